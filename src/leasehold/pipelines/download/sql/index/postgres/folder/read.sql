-- read: Read which folder this index belongs to.
SELECT id FROM download.folder
