# Commands that start a session
dovetail explain --view shop "SELECT count(*) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store"
dovetail compare --view shop "SELECT count(*) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store"
dovetail advise --view shop "SELECT count(*) FROM sales s JOIN item i ON s.item = i.item JOIN store t ON s.store = t.store"
dovetail analyze --view shop item
dovetail stats --view shop item
dovetail pins list
dovetail rows list
dovetail history
