#!/usr/bin/python3
"""An upload:  upload.py FILE...     Stores that the pictures are there, and has their thumbnails made, in one transaction."""
import sys
import hipq, psycopg


def main(*files):
    with psycopg.connect("user=gallery") as conn:
        ids = [conn.execute("INSERT INTO picture (file) VALUES (%s) RETURNING id", (file,)).fetchone()[0] for file in files]
        hipq.enqueue_many(conn, "thumbnails", [{"picture": id, "file": file} for id, file in zip(ids, files)],
                          queue="gallery.images")
    print(f"uploaded {len(files)} picture(s)")


if __name__ == "__main__":
    main(*sys.argv[1:])
