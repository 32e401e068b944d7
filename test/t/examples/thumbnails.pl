# In examples/thumbnails each picture has its thumbnails once, although the story kills a worker
# that has two of them.
use strict;
use warnings;
use HipqExample;
use Test::More;

my $example = HipqExample->new('thumbnails');
my $hipq = $example->hipq;

is($hipq->sql('SELECT count(*), count(DISTINCT picture_id), bool_and(greatest(width, height) = size)
		FROM thumbnail'), '39|13|t', 'each picture has three thumbnails of the right sizes');
is($hipq->sql(q{SELECT bool_and(substr(data, 1, 3) = '\xffd8ff') FROM thumbnail}), 't',
	'thumbnails are JPEG');
is($hipq->sql(q{SELECT bool_and(abs(width::numeric / height - 1200.0 / (300 +
		50 * (picture_id - 1))) < 0.05) FROM thumbnail WHERE picture_id <= 12 AND size = 256}), 't',
	'thumbnails have the shape of their pictures');
is($hipq->sql(q{SELECT string_agg(regexp_replace(file, '.*/', ''), ', ') FROM picture
		WHERE NOT EXISTS (SELECT FROM thumbnail WHERE picture_id = picture.id)}),
	'notes.png', 'only the file that is no picture has no thumbnails');
is($hipq->sql(q{SELECT reason || ': ' || error FROM hipq.dead_letters_detail}),
	'explicit_failure: no picture: notes.png', 'the file that is no picture is a dead letter');
is($hipq->sql(q{SELECT count(*) FROM hipq.attempts WHERE reason = 'worker_lost'}), 2,
	'the worker that was killed had two pictures');
is($hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE result->>'by' = 'slow'}), 0,
	'the killed worker has made no thumbnail');
is($hipq->sql(q{SELECT bool_and(jobs.outcome = 'succeeded') FROM hipq.jobs
		JOIN hipq.attempts ON attempts.job_id = jobs.id WHERE attempts.reason = 'worker_lost'}),
	't', 'other workers have run the jobs of the killed worker');
cmp_ok($hipq->sql(q{SELECT count(*) FROM hipq.attempts_detail WHERE error ~ 'gone.png'}), '>', 0,
	'a job with a missing file was retried');
like($example->said, qr{\|\s+0\.0 \| 64 pixels}, 'progress is shown');
$example->has_ended;
done_testing();
