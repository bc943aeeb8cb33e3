# Commands that start a session
dovetail explain --view shop "SELECT count(*) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store"
dovetail compare --view shop "SELECT count(*) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store"
dovetail advise --view shop "SELECT count(*) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store"
dovetail analyze --view i=shop/item i
dovetail stats --view shop item
dovetail pins --capture nightly --view shop "SELECT count(*) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store"
dovetail pins
dovetail pins --remove nightly
dovetail rows rows.json --view shop --set 40 --sql "SELECT * FROM sales s JOIN item i ON s.item = i.item"
dovetail explain --view shop --rows rows.json "SELECT count(*) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store"
dovetail explain --actual --view shop "SELECT count(*) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store"
dovetail history
dovetail history --forget
dovetail rows nowhere.json
dovetail explain --view nowhere "SELECT 1"
