-- A gallery: pictures that are uploaded, and their thumbnails, which a program outside the server makes.

CREATE EXTENSION hipq;
CREATE ROLE gallery LOGIN;       -- owns the queue and the tables
CREATE ROLE thumbnailer LOGIN;   -- the program that makes thumbnails

CREATE TABLE picture (
    id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    file text NOT NULL
);
CREATE TABLE thumbnail (
    picture_id bigint NOT NULL REFERENCES picture,
    size       integer NOT NULL,
    width      integer NOT NULL,
    height     integer NOT NULL,
    data       bytea NOT NULL,
    PRIMARY KEY (picture_id, size)
);
GRANT SELECT, INSERT ON picture TO gallery;
GRANT INSERT ON thumbnail TO thumbnailer;

SELECT hipq.create_queue('gallery.images', owner => 'gallery');
-- Retries: of jobs that were lost with their worker, too. In production fewer of them, with longer pauses.
SELECT hipq.register_job_type('gallery.images', 'thumbnails', handler_kind => 'notify', default_timeout => '60 s',
                              max_retries => 60, retry_base => '200 ms', retry_max => '1 s', requires => '{"tools": ["pillow"]}');
SELECT hipq.grant_queue('gallery.images', 'thumbnailer', 'work');
