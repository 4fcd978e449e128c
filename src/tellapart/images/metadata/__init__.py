"""What people and cameras wrote into the files of photos: EXIF, IPTC and XMP, read and written."""
