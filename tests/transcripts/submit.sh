# Spark's own tools with the jar
spark-submit $(dovetail submit-args) --master 'local[2]' job.py
spark-sql $(dovetail submit-args) --master 'local[2]' -e "SELECT * FROM dovetail_version()"
spark-sql $(dovetail submit-args) --master 'local[2]' -e "DOVETAIL HELP"
