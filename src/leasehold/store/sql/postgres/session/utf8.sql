-- utf8: Send and receive texts as UTF-8 until this transaction ends.
SET LOCAL client_encoding = 'UTF8'
