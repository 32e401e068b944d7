#!/usr/bin/python3
"""The thumbnailer:  thumbnailer.py NAME     A worker of that name. Start as many as you like. SIGTERM ends it, when its jobs end.

SLOW=SECONDS makes it slow, to have time to look at it, or to kill it."""
import io, os, sys
import hipq, psycopg, PIL.Image

NAME = sys.argv[1]
SIZES = (64, 128, 256)
SLOW = float(os.environ.get("SLOW", "0"))

worker = hipq.Worker("user=thumbnailer", name=NAME, queues=["gallery.images"], concurrency=2,
                     capabilities={"tools": ["pillow"]})


def shrink(image, size):
    small = image.convert("RGB")
    small.thumbnail((size, size))
    out = io.BytesIO()
    small.save(out, "JPEG")
    return small.width, small.height, out.getvalue()


@worker.job("thumbnails")
def make_thumbnails(job):
    try:
        image = PIL.Image.open(job.data["file"])
        image.load()
    except (PIL.UnidentifiedImageError, OSError) as error:
        if isinstance(error, OSError) and error.errno:         # the disk, not the picture: try again
            raise
        raise hipq.Permanent(f"no picture: {os.path.basename(job.data['file'])}") from None
    rows = []
    for number, size in enumerate(SIZES):
        job.progress(number, len(SIZES), f"{size} pixels")     # raises if the job was cancelled
        job.sleep(SLOW)
        rows.append((job.data["picture"], size, *shrink(image, size)))
    with psycopg.connect("user=thumbnailer") as conn:      # thumbnails and success together
        conn.cursor().executemany("INSERT INTO thumbnail VALUES (%s, %s, %s, %s, %s)", rows)
        job.complete(conn, {"by": NAME, "sizes": len(rows)})


worker.run()
