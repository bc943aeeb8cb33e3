"""Renders explanations: reading.py reads the JSON of `dovetail_explain`, other modules turn it into output formats.

`explanation.py` fetches the JSON. page.py (HTML) and mermaid.py turn the model into a string; the jar itself writes the
explanation as text. explain.schema.json is the schema of the JSON.
"""
