"""Models from elsewhere: local folders in the layout of Hugging Face, read exactly or refused by name.

`folder` reads what lies there, `families` hold a configuration and a table of weight names for each kind of model,
`loading` puts them together. Nothing is fetched, no code from a folder is run, and no pickle is opened.
"""
