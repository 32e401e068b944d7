# The first screen of README.md, pasted into psql on a fresh cluster, works line by line.
use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $readme = slurp_file("$ENV{HIPQ_ROOT}/README.md");
my ($script) = $readme =~ /^<!-- first-use -->\s*\n```sql\n(.*?)^```$/ms;
isnt($script, undef, 'README.md has a first screen');

my $hipq = HipqCluster->new('first_use', extension => 0);
$hipq->sql('DROP ROLE app');    # the screen makes it

my ($status, $out, $err) = $hipq->node->psql('postgres', $script, extra_params => [ '-v', 'ON_ERROR_STOP=1' ]);
is($status, 0, 'every line works');
like($err, qr/^\S+ NOTICE:  instance "app" is new: create_queue\(\) made it\nHINT:  .*$/, 'and says nothing on the side but that');
like($out, qr/scheduled time\|f\|It waits for its time, \S+ \d\d:\d\d:\d\d\S+, in (5\d s|1 min)/, 'why() says what the job waits for');

ok($hipq->wait_until("SELECT string_agg(addr, ' ' ORDER BY addr) FROM sent", 'ann@example.com bob@example.com eve@example.com'),
	'the jobs ran, and the one that was rolled back did not');
ok($hipq->wait_until("SELECT string_agg(outcome || ' ' || attempt, ', ') FROM hipq.jobs", 'succeeded 1, succeeded 1, succeeded 1'), 'all succeeded');
is($hipq->sql("SELECT job_key FROM hipq.jobs WHERE job_key IS NOT NULL"), 'ann', 'the key is kept');

done_testing();
