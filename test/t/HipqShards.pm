# A router and its shards: separate clusters with one instance "app" and queue "app.mail", which is
# divided by job_data->>'tenant'.
package HipqShards;

use strict;
use warnings;
use HipqCluster;

# new($name, $shards, setting => value ...): returns running and connected servers; each shard has
# its part of the slots. install_paths => [...] are the paths of other versions of PostgreSQL, for
# the router and each shard. before => SQL for all nodes before they are connected; router_before =>
# SQL for the router only.
sub new
{
	my ($class, $name, $shards, %settings) = @_;
	my $paths = delete $settings{install_paths} // [];
	my ($before, $router_before) = (delete $settings{before}, delete $settings{router_before});
	# PostgreSQL's modules allow 10 connections to a server that streams. A procedure makes a
	# connection for each query, and on a busy machine earlier connections still exist.
	my %wal = (wal_sender_timeout => '10s',
		wal_retrieve_retry_interval => '200ms', max_connections => 50, %settings);
	my @nodes = map { HipqCluster->new($_ == 0 ? "${name}_router" : "${name}_shard$_",
			install_path => $paths->[$_], streaming => wal_level($paths->[$_]), %wal)
	} 0 .. $shards;
	my $self = bless { nodes => \@nodes }, $class;
	$_->sql(q{CREATE TABLE ran (id bigint, node text DEFAULT current_setting('port'), tenant text);
		GRANT ALL ON ran TO app;
		CREATE FUNCTION run(job hipq.job) RETURNS void
			LANGUAGE sql AS 'INSERT INTO ran (id, tenant) VALUES (job.id, job.shard_key)'})
	  foreach @nodes;
	$self->router->sql(q{CREATE EXTENSION dblink;
		SELECT hipq.create_queue('app.mail', owner => 'app', shard_key => $$job_data->>'tenant'$$);
		SELECT hipq.register_job_type('app.mail', 'run', handler => 'run')});
	if (defined $before) { $_->sql($before) foreach @nodes; }
	$self->router->sql($router_before) if defined $router_before;
	$self->router->sql(sprintf("CALL hipq.create_shard('app', %d, '%s', publisher => '%s')", $_,
			$self->conninfo($_), $self->conninfo(0))) foreach 1 .. $shards;
	$self->router->sql(q{SELECT hipq.rebalance('app')}) if $shards > 0;
	return $self;
}

# From PostgreSQL 19 on the default suffices.
sub wal_level
{
	my ($path) = @_;
	my ($version) = ($path // $ENV{PGVERSION} // 15) =~ /(\d+)$/;
	return $version < 19 ? 'logical' : 1;
}

sub router { return $_[0]->{nodes}[0]; }
sub node { return $_[0]->{nodes}[ $_[1] ]; }
sub nodes { return @{ $_[0]->{nodes} }; }

sub conninfo
{
	my ($self, $number) = @_;
	my $node = $self->{nodes}[$number]->node;
	return sprintf 'host=%s port=%d dbname=postgres user=postgres', $node->host, $node->port;
}

# Waits until no slot moves, and each node knows that: the router learns the end of a move before
# the jobs arrive at their new node. All nodes must be up.
sub settled
{
	my ($self) = @_;
	my $router = $self->router;
	return 0 unless $router->wait_until('SELECT count(*) FROM hipq.shard_move', 0);
	my $map = q{FROM hipq.shard_map JOIN hipq.instance USING (instance_id) WHERE name = 'app'};
	my $generation = $router->sql("SELECT generation $map");
	foreach my $node ($self->nodes)
	{
		return 0 unless $node->wait_until(
			"SELECT generation >= $generation AND NOT EXISTS (SELECT FROM hipq.shard_coming) $map");
	}
	return 1;
}

# Runs SQL on a node that moves slots or enqueues several keys. Repeats it if a stopped server, or
# arriving jobs, made it fail.
sub on_router { my ($self, $sql) = @_; return $self->on(0, $sql); }
sub on { my ($self, $number, $sql) = @_; return $self->node($number)->sql_again($sql); }

# Makes a standby of a node, a PostgreSQL::Test::Cluster.
sub standby_of
{
	my ($self, $number) = @_;
	my $primary = $self->{nodes}[$number]->node;
	$primary->backup('standby');
	my $standby = PostgreSQL::Test::Cluster->new($primary->name . '_standby');
	$standby->init_from_backup($primary, 'standby', has_streaming => 1);
	$standby->start;
	$primary->wait_for_catchup($standby, 'replay');
	return $standby;
}

# Disconnects the standby: it never gets later writes of its primary.
sub cut_off
{
	my ($self, $standby) = @_;
	$standby->safe_psql('postgres', q{ALTER SYSTEM SET primary_conninfo = ''});
	$standby->reload;
	$standby->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver')
		or die 'the standby goes on';
	return;
}

# Stops the primary immediately, and promotes the standby in its place. Returns the old cluster.
sub promote
{
	my ($self, $number, $standby) = @_;
	my $before = $self->{nodes}[$number];
	$before->node->stop('immediate');
	$standby->promote;
	$self->{nodes}[$number] = bless { %$before, node => $standby }, ref $before;
	return $before;
}

# Returns whether the error means that a busy machine refused a connection.
sub is_unconnected
{
	return $_[0] =~ /could not (?:establish connection|connect to the publisher)|too many clients/;
}

# Calls resync_shard() on the router, and returns its messages. Repeats the call, as the manual
# says, if a busy machine refuses a connection. Dies of any other error.
sub resync
{
	my ($self, $arguments) = @_;
	my ($status, $err);
	foreach my $try (1 .. 3)
	{
		($status, undef, $err) = $self->router->node->psql('postgres',
			"CALL hipq.resync_shard('app', $arguments)");
		return $err if $status == 0;
		Test::More::diag("resync_shard($arguments) fails, try $try: $err");
		last unless is_unconnected($err);
	}
	die "resync_shard($arguments) fails: $err";
}

# Returns a tenant whose jobs go to a node.
sub tenant_of
{
	my ($self, $node) = @_;
	return $self->router->sql("SELECT min(n) FROM generate_series(1, 1000) AS n, hipq.shard_map
		WHERE nodes[hipq.slot_of(n::text) + 1] = $node");
}

# Returns how many jobs have run on each node: "0 12 13".
sub counts { return join ' ', map { $_->sql('SELECT count(*) FROM ran') } $_[0]->nodes; }

# Returns whether a count becomes 0 after this many days. Maintenance runs each minute, and drops
# what other nodes had read by its previous run, so the clocks move by two minutes each time.
sub forgotten
{
	my ($self, $days, $node, $count) = @_;
	# generous, because each step sets the clocks of all nodes
	my $limit = time + 3 * $PostgreSQL::Test::Utils::timeout_default;
	for (my $minutes = 0; time < $limit; $minutes += 2)
	{
		$_->set('hipq.clock_offset' => 86_400 * $days + 60 * $minutes) foreach $self->nodes;
		return 1 if $node->sql($count) == 0;
		select undef, undef, undef, 0.2;
	}
	return 0;
}

# Waits until this many jobs have run on all nodes together.
sub wait_for_runs
{
	my ($self, $count) = @_;
	my $limit = time + $PostgreSQL::Test::Utils::timeout_default;
	my $sum = -1;
	while (time < $limit)
	{
		$sum = 0;
		$sum += $_ foreach split / /, $self->counts;
		return 1 if $sum == $count;
		select undef, undef, undef, 0.05;
	}
	Test::More::diag('runs: ' . $self->counts . ", not $count");
	return 0;
}

1;
