# The page of hipq-web (clients/web/page) works in a real browser: signing in, each page in both
# colour schemes and at three widths, and the data and actions of each role. The tests are in
# clients/web/test/browser.
use strict;
use warnings;
use File::Basename qw(basename);
use HipqBrowser;
use HipqCluster;
use HipqWeb;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'hipq-web was not built' unless defined HipqWeb::program();
plan skip_all => HipqBrowser::missing() if defined HipqBrowser::missing();
my $tests = HipqBrowser::build() or do { done_testing(); exit };
my $source = "$ENV{HIPQ_ROOT}/clients/web/test/browser";

my $hipq = HipqCluster->new('web_page');
$hipq->ask_for_passwords(qw(web_operator web_developer web_monitor));
$hipq->sql(slurp_file("$source/setup.sql"));
ok($hipq->node->poll_query_until('postgres', q{SELECT count(*) = 3 FROM hipq.jobs
		WHERE outcome IN ('waiting', 'running')}),
	"all jobs of the page's tests but three have ended");

my $web = HipqWeb->new($hipq);
my $service = HipqWeb->new($hipq, arguments => ['--service']);
@ENV{qw(PGHOST PGPORT PGUSER PGDATABASE)} = ($hipq->node->host, $hipq->node->port,
	'postgres', 'postgres');
@ENV{qw(HIPQ_WEB_URL HIPQ_WEB_SERVICE_URL)} = map { "$_->{url}/" } $web, $service;
HipqBrowser::run($tests, basename($_)) foreach sort glob "$source/*.test.js";

is($_->stop, 0, 'hipq-web ends by SIGTERM') foreach $web, $service;
done_testing();
