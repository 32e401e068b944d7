# Runs the story of an example in examples/ to its end, on a separate cluster with the example's
# settings.
package HipqExample;

use strict;
use warnings;
use HipqCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $needs_something = 77;    # the exit code of a story that lacks a tool

# Runs the story, which must succeed, with further settings. Skips the whole test if something that
# the example needs is missing.
sub new
{
	my ($class, $name, %settings) = @_;
	my $folder = "$ENV{HIPQ_ROOT}/examples/$name";
	my $hipq = HipqCluster->new($name =~ tr/-/_/r, extension => 0, settings_of($folder), %settings);
	$hipq->sql('DROP ROLE app');    # the examples make their own roles
	$hipq->sql('CREATE DATABASE example');
	my $self = bless { hipq => $hipq->in('example'),
		files => PostgreSQL::Test::Utils::tempdir }, $class;
	$self->run_story("$folder/story");
	return $self;
}

# Returns the lines NAME=VALUE of a file, which may be missing.
sub settings_of
{
	my ($folder) = @_;
	return unless -e "$folder/settings";
	return map { /^(\w[\w.]*)=(.*)$/ ? ($1, $2) : () } split /\n/, slurp_file("$folder/settings");
}

sub run_story
{
	my ($self, $story) = @_;
	my $node = $self->hipq->node;
	local @ENV{qw(PGHOST PGPORT PGDATABASE EXAMPLE_FILES)} = ($node->host, $node->port,
		'example', $self->{files});
	my $said = "$self->{files}/said";
	my $status = system('bash', '-c', '"$0" >"$1" 2>&1', $story, $said) >> 8;
	$self->{said} = slurp_file($said);
	if ($status == $needs_something) { plan skip_all => $self->{said} =~ s/\n.*//sr }
	is($status, 0, 'the story of the example runs to its end') or diag($self->{said},
		map { "$_:\n" . slurp_file($_) } glob "$self->{files}/*.log");
	return;
}

# Returns the cluster, for the database of the example.
sub hipq { return $_[0]->{hipq}; }

# Returns the output of the story.
sub said { return $_[0]->{said}; }

# Returns the contents of a file that a program has written.
sub file { my ($self, $name) = @_; return slurp_file("$self->{files}/$name"); }

# Tests that no process of the story is left, and that all jobs have ended.
sub has_ended
{
	my ($self) = @_;
	my $sessions = q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'
		AND pid <> pg_backend_pid()};
	ok($self->hipq->wait_until($sessions, 0), 'no program of the story is left');
	is($self->hipq->sql(q{SELECT count(*) FROM hipq.jobs_detail WHERE state <> 'final'}), 0,
		'no job of the story is unfinished');
	return;
}

1;
