"""How an explanation is shown: one reading of the JSON of `dovetail_explain` (model.py), and a file per form of it.

`explanation.py` fetches the JSON; text.py, page.py (HTML) and mermaid.py are functions from the model to a string.
explain.schema.json is the JSON's contract.
"""
