# Random statements against schema hipq: every function with arguments by type, INSERT, COPY,
# UPDATE, DELETE and SELECT on every table and view, by every kind of role, in many contexts. A
# script is a file with a statement and its context on each line. psql runs a script in one session,
# and its errors name the line.
#
# The success of a statement does not matter: PostgreSQL and hipq may refuse any statement, with an
# SQLSTATE that names the problem.
package HipqFuzz;

use strict;
use warnings;

# The setting that runs each possible query in parallel. From PostgreSQL 16 on its name is
# debug_parallel_query.
our $in_parallel = 'force_parallel_mode';

# SQLSTATEs that no statement may have: internal errors.
my $never = qr/^(?:XX|58|F0|0Z)/;

# Statements that would remove the objects under test: the script rolls them back. It also rolls
# back superusers' writes to hipq's tables, because no guarantee holds after them.
my $rolled_back =
	qr/\b(?:drop_queue|drop_instance|drop_job_type|revoke_queue|alter_queue|release_hold|or_replace)\b/;

my @numbers = (0, 1, -1, 2, 7, 1000, 2147483647, -2147483648);
my %values = (
	text => [
		"''", "'NONE'", "'app.main'", "'app.main'", "'app.ext'", "'app.ext'", "'hipq.main'",
			"'APP.Main'", q{'"app"."main"'}, "'app.'", "'nonsense'", "'ok'", "'fails'",
			"'ext'", "'slow'",
		"'one'", "'two'", "'read'", "'operate'", "'control'", "'enqueue'", "'work'",
			"'function'", "'notify'", "'auto'", "'record'", "'lock'", "'SELECT 1'", "'fuzz.ok'",
			"'fuzz.fails'", "'1 min'", "'7'",
		"'mon-fri 09:00-17:00'", "'* * * * *'", "'Europe/Berlin'", "'return'",
			"'replace'", "'merge'", "'debounce'", "'after'", "'after_first'", "'error'",
			"'initial'", "'final'", "'waiting'", "'wait'", "'succeeded'", "'finished'", "'any'",
			"'skip'", "'run'",
		"repeat('x', 64)", "repeat('x', 1001)", "repeat('x', 1000000)", "chr(1)",
			"chr(1114109)", "convert_from('\\xff', 'UTF8')", "convert_from('\\xe4', 'LATIN1')",
			"'{\"a\": 1}'", "'['",
		"repeat('[', 20000)", "repeat('mon ', 300)", "E'a\\nb\\tc'", "'%s%n'", "'\$1'",
			q{'"Quoted Name"'}, "'9223372036854775808'", "'NaN'", "'infinity'" ],
	smallint => [ @numbers[ 0 .. 5 ], 32767, -32768, 32768 ],
	integer => [@numbers],
	bigint => [ @numbers, '9223372036854775807', '-9223372036854775808' ],
	oid => [ 0, 1, 4294967295, "'hipq.job'::regclass" ],
	numeric => [ @numbers, "'NaN'", "'Infinity'", '1e30', '0.0005', '-0.001', '99999999.999' ],
	'double precision' => [ @numbers, "'NaN'", "'-Infinity'", '1e308', '1e-308', '0.5' ],
	boolean => [ 'true', 'false' ],
	'timestamp with time zone' => [ "'infinity'", "'-infinity'", 'now()',
		"now() + interval '1 second'", "now() - interval '10 years'", "'294276-12-31 23:59:59'",
		"'4713-01-01 BC'", "'epoch'" ],
	'hipq.duration' => [ @numbers, "'0'", "'1 us'", "interval '5 ms'", "'-1 day'", "'infinity'",
		"'NaN'::float8", "'178000000 years'", "'1 hour'", "'soon'", '1e300' ],
	'hipq.time_or_duration' => [ "'1 s'", "interval '5 ms'", "'-1 day'", "'infinity'",
		"now() + interval '1 second'", 'localtimestamp', "'5874897-12-31'::date", "'soon'",
		"'178000000 years'", "'18:00'" ],
	interval => [ "'0'", "'1 us'", "'5 ms'", "'-1 day'", "'1 month'", "'-178000000 years'",
		"'178000000 years'", "'1 hour'" ],
	jsonb => [
		"'{}'", "'null'", "'1e400'", "'\"x\"'", "'[1, 2]'", q{'{"a": "\u0000"}'},
			q{'{"a": {"b": [null, true]}}'}, "(repeat('[', 3000) || repeat(']', 3000))::jsonb",
		"to_jsonb(repeat('x', 1000000))",
			"(SELECT jsonb_object_agg(n, n) FROM generate_series(1, 3000) AS n)", "'{'" ],
	regrole => [ "'app'", "'fuzz_worker'", "'Fuzz Reader'", q{'"Fuzz Reader"'}, "'fuzz_control'",
		"'nobody'", 0, 10, 4294967295, "'pg_monitor'" ],
	uuid => [ 'gen_random_uuid()' ],
	anyelement => [ "'x'::text", '1.5', 'ROW(1, NULL)', 'ARRAY[1, NULL]', 'current_date',
		"'\\x00ff'::bytea", 'NULL::integer', 'NULL', "'{}'::jsonb", "'NaN'::float8" ],
	'hipq.time_windows' => [ "'NONE'", "'mon-fri 09:00-17:00'", "repeat('x', 1001)", "''" ],
	'hipq.job_state' => [ "'initial'", "'running'", "'error'", "'retry'", "'final'", "'none'" ],
	'tid' => ["'(0,1)'"]);

my %elements = (
	'text[]' => [ "'app.main'", "'app.ext'", "'ext'", "'ok'", 'NULL', "''",
		"'40001'", "'timeout'" ],
	'bigint[]' => [ 1, 2, 3, 50, 'NULL', '9223372036854775807' ],
	'integer[]' => [ 1, 1, 1, 2, 'NULL', 2147483647 ],
	'jsonb[]' => [ "'{}'::jsonb", 'NULL', "'1'::jsonb", "'\"x\"'::jsonb" ]);

# new(seed => ..., functions => [[name, [argument names], [types], how many have defaults], ...],
# tables => [[name, [[column, type], ...]], ...])
sub new
{
	my ($class, %self) = @_;
	return bless {%self}, $class;
}

sub pick { return $_[ int(rand(@_)) ]; }
sub chance { return rand(100) < $_[0]; }

sub array_of
{
	my ($type) = @_;
	return pick("'{}'", "'{{a,b},{c,d}}'", "'[5:6]={1,2}'", 'NULL', "'{1,2}'", "'{{1,2},{3,4}}'",
		"array_fill(NULL::" . ($type =~ s/\[\]//r) . ", ARRAY[2000])") if chance(20);
	my @list = map { pick(@{ $elements{$type} }) } 1 .. 1 + int(rand(4));
	return 'ARRAY[' . join(', ', @list) . "]::$type";
}

# Returns a value of a type; sometimes an untyped literal that must be converted.
sub value
{
	my ($type) = @_;
	return 'NULL' if chance(7);
	return pick(grep { !/\(/ } @{ $values{text} }) if chance(5);
	return array_of($type) if $elements{$type};
	return int(rand(400)) if $type =~ /^(?:integer|bigint)$/ && chance(50);
	return pick(@{ $values{$type} // ['NULL'] });
}

# ---- statements

# Returns a call with arguments by position, or by name with some of the defaults.
sub call
{
	my ($self) = @_;
	my ($name, $names, $types, $defaults) = @{ pick(@{ $self->{functions} }) };
	my $needed = @$types - $defaults;
	my @arguments;
	if (chance(50) && @$names == @$types && !grep { $_ eq '' } @$names)
	{
		@arguments = map { $_ < $needed || chance(40) ? "$names->[$_] => " . value($types->[$_])
			: () } 0 .. $#$types;
	}
	else
	{
		@arguments = map { value($types->[$_]) } 0 .. $needed + int(rand($defaults + 1)) - 1;
	}
	my $call = "hipq.$name(" . join(', ', @arguments) . ')';
	return chance(50) ? "SELECT * FROM $call" : "SELECT $call";
}

sub some_columns
{
	my ($columns) = @_;
	my @some = grep { chance(40) } @$columns;
	return @some ? @some : ($columns->[0]);
}

sub condition
{
	my ($columns) = @_;
	return '' if chance(20);
	my ($column, $type) = @{ pick(@$columns) };
	return " WHERE $column " . pick('=', '<>', '>=', '<', 'IS DISTINCT FROM') . ' ' . value($type);
}

sub write_or_read
{
	my ($self) = @_;
	my ($table, $columns) = @{ pick(@{ $self->{tables} }) };
	my @some = some_columns($columns);
	my $list = join ', ', map { $_->[0] } @some;
	my $kind = int(rand(100));
	return "INSERT INTO hipq.$table ($list) VALUES (" . join(', ', map { value($_->[1]) } @some)
		. ')' . pick('', '', ' ON CONFLICT DO NOTHING', ' RETURNING *') if $kind < 35;
	return "UPDATE hipq.$table SET " . join(', ',
		map { "$_->[0] = " . value($_->[1]) } @some) . condition($columns) if $kind < 55;
	return "DELETE FROM hipq.$table" . condition($columns) if $kind < 60;
	return pick("LOCK TABLE hipq.$table IN ACCESS SHARE MODE NOWAIT",
		"SELECT * FROM hipq.$table LIMIT 3 FOR UPDATE NOWAIT", "TRUNCATE hipq.$table",
		"ANALYZE hipq.$table",
		"DROP TABLE hipq.$table",
			"COMMENT ON TABLE hipq.$table IS 'x'", "ALTER TABLE hipq.$table ADD COLUMN x integer",
			"COPY hipq.$table TO STDOUT") if $kind < 68;
	return "SELECT $list FROM hipq.$table" . condition($columns) . ' LIMIT 5';
}

# Statements that make work for other sessions: jobs, and a worker that takes them.
sub useful
{
	my $type = pick(qw(ok ok fails slow later says));
	return pick(
		"SELECT hipq.enqueue('$type', '{}', queue => 'app.main')",
			"INSERT INTO hipq.app_main (job_type, job_key) VALUES ('$type', " . pick("'one'",
			"'two'", "'NONE'") . ')',
		"SELECT hipq.enqueue('ext', '{}', queue => 'app.ext')",
		"SELECT hipq.enqueue_many('$type', array_fill('1'::jsonb, ARRAY[20]), "
			. "queue => 'app.main')",
		"SELECT hipq.enqueue('$type', '{}', queue => 'app.main', after => "
			. 'ARRAY(SELECT id FROM hipq.jobs ORDER BY id DESC LIMIT ' . (1 + int(rand(4))) . ')'
			. pick('', ", on_failure => 'skip'", ", after_policy => 'any'") . ')',
		"SELECT hipq.enqueue_unique('$type', '{}'::text, queue => 'app.main', job_key => 'one', "
			. 'on_duplicate => ' . pick("'after'", "'after_first'") . ')',
		"SELECT hipq.register_worker('worker', '{app.ext}', '{ext}', 10, 5, take_over => true)",
			'SELECT hipq.claim(n, 5) FROM generate_series(1, 5) AS n',
		'SELECT hipq.complete(n, 1) FROM generate_series(1, 50) AS n',
			"SELECT hipq.run_until_idle('app.main', 5)",
			'SELECT hipq.dry_run(n) FROM generate_series(1, 9) AS n',
			'SELECT hipq.dry_fail(n) FROM generate_series(1, 9) AS n',
		"SELECT hipq.why(" . int(rand(300)) . ')', 'SELECT hipq.cancel(' . int(rand(300)) . ')',
			'SELECT * FROM hipq.jobs_detail', 'SELECT * FROM hipq.queues',
			'CREATE TEMPORARY TABLE IF NOT EXISTS own (x integer)',
		"\\copy hipq.app_main (job_type, job_key, job_data) FROM '$_[0]{copy_file}'");
}

sub statement
{
	my ($self) = @_;
	my $kind = int(rand(100));
	return useful($self) if $kind < 12;
	return $kind < 65 ? $self->call : $self->write_or_read;
}

# ---- contexts of statements

sub dollar { return "\$fuzz\$$_[0]\$fuzz\$"; }

sub in_one_snapshot
{
	return 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT fuzz.unchanged_by_refusal('
		. dollar($_[0]) . '); COMMIT;';
}

# Compares the contents of the tables before and after the statement.
sub alone
{
	return "SELECT fuzz.digest_alone() AS before "
		. "\\gset \\\\ $_[0]; SELECT fuzz.judge_alone(:'before', :ERROR, :'SQLSTATE');";
}

# Runs the statement first in a new process, without the state that earlier statements set up.
sub first_in_session { return "\\c \\\\ $_[0]"; }

sub begin
{
	return 'BEGIN' . pick('', ' ISOLATION LEVEL SERIALIZABLE', ' ISOLATION LEVEL REPEATABLE READ',
		' READ ONLY', ' ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE');
}

# Returns a line: the statement in a random context. `rolls_back`: it must be rolled back.
sub surround
{
	my ($statement, $number, $rolls_back) = @_;
	return "BEGIN; $statement; ROLLBACK;" if $rolls_back;
	return $statement if $statement =~ /^\\/;
	my $kind = int(rand(100));
	my $is_query = $statement =~ /^SELECT/ && $statement !~ /NOWAIT/;
	return "$statement;" if $kind < 18;
	return first_in_session("$statement;") if $kind < 30;
	return begin() . "; $statement; " . pick('COMMIT', 'ROLLBACK',
		'COMMIT AND CHAIN; ROLLBACK') . ';' if $kind < 42;
	return "BEGIN; SAVEPOINT one; $statement; ROLLBACK TO one; SELECT 1; $statement; "
		. "RELEASE one; COMMIT;" if $kind < 48;
	return "SET statement_timeout = '" . (1 + int(rand(15)))
		. "ms'; $statement; RESET statement_timeout;" if $kind < 58;
	return in_one_snapshot($statement) if $kind < 66;
	return 'SELECT fuzz.in_subtransaction(' . dollar($statement) . ');' if $kind < 72;
	return 'INSERT INTO fuzz.by_trigger VALUES (' . dollar($statement) . ');' if $kind < 77;
	return "SELECT hipq.enqueue('run_sql', to_jsonb(" . dollar($statement)
		. "::text), queue => 'app.main');" if $kind < 81;
	return "BEGIN; $statement; PREPARE TRANSACTION 'fuzz_$number'; " . pick('ROLLBACK',
		'COMMIT') . " PREPARED 'fuzz_$number';" if $kind < 85;
	return "SET $in_parallel = on; $statement; RESET $in_parallel;" if $kind < 89;
	return "PREPARE fuzz AS $statement; EXECUTE fuzz; EXECUTE fuzz; DEALLOCATE fuzz;"
		if $kind < 94 && $statement =~ /^(?:SELECT|INSERT|UPDATE|DELETE)/;
	return "BEGIN; DECLARE fuzz CURSOR WITH HOLD FOR $statement; FETCH 2 IN fuzz; COMMIT; "
		. "FETCH 2 IN fuzz; CLOSE fuzz;" if $is_query;
	return "$statement;";
}

sub is_superusers_write
{
	my ($role, $statement) = @_;
	return $role->{is_superuser} && $statement
		=~ /^(?:INSERT|UPDATE|DELETE|TRUNCATE|DROP|ALTER|COMMENT)/
		&& $statement !~ /^INSERT INTO hipq\.app_main \(job_type/;
}

# Returns the lines of a script. The same seed and number give the same script.
sub script
{
	my ($self, $role, $number, $size) = @_;
	srand($self->{seed} * 10_007 + $number);
	return map {
		my $statement = $self->statement;
		surround($statement, "${number}_$_",
			$statement =~ $rolled_back || is_superusers_write($role, $statement))
	} 1 .. $size;
}

# Returns lines for a session without concurrent ones. Leaves out statements after which nothing
# could be compared.
sub script_alone
{
	my ($self, $role, $number, $size) = @_;
	srand($self->{seed} * 10_007 + $number);
	return map { $_ =~ $rolled_back || $_ =~ /^\\|:\w/ || is_superusers_write($role,
			$_) ? () : alone($_) } map { $self->statement } 1 .. $size;
}

# ---- judging

# Returns the messages in psql's stderr that must not occur: [line, text]. The text ends with the
# place in the source, because psql is verbose.
sub objections
{
	my ($stderr) = @_;
	my @found;
	foreach my $said (split /^(?=psql:[^\n]*?:\d+: )/m, $stderr)
	{
		my ($line, $sqlstate, $message) =
		  $said =~ /^psql:[^\n]*?:(\d+): (?:ERROR|FATAL|PANIC):\s+(\w{5}): ([^\n]*)/
		  or next;
		my ($place) = $said =~ /^LOCATION:  (.*)/m;
		push @found, [ $line, join ' at ', "$sqlstate: $message", $place // () ]
		  if $sqlstate =~ $never || $message =~ /cache lookup failed|FUZZ/;
	}
	return @found;
}

1;
