"""One module per sheet of the workbook; each returns the filled sheet and the cells that others build on."""
