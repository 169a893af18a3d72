"""Caches kept between the requests of a session, the bytes they hold and the hits they give."""
