"""Makes the modules beside it (``tiny_case``) importable from every folder of tests."""
