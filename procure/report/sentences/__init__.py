"""A plan in sentences, one file a subject; terminal, page and workbook print the same."""
