# First steps: commands that need no session
dovetail --version
dovetail jar-path
dovetail submit-args
dovetail init-script --platform databricks
dovetail doctor
dovetail nonsense
dovetail explain
dovetail explain "SELECT * FROM nothing"
