"""An audit as text for a terminal, as JSON for programs, as a page for a reviewer.

words      sentences and figures that text and page share
as_text    tables of text
as_json    the format of audit.schema.json
as_html    one page without anything beside it
plots      its figures
markup     elements that escape what they hold
"""
