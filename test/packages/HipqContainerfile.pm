# Runs the steps of a Containerfile as a container engine would, in bare roots (HipqRoots.pm),
# because there need be no engine and no registry.
package HipqContainerfile;

use strict;
use warnings;
use File::Basename qw(dirname);
use HipqRoots;
use Test::More;

# new($file, $prefix, ARG => value ...): runs all steps, one test for each RUN. The context is the
# folder of the file. The roots of stages are named after the prefix. Afterwards the object is where
# the last stage has come to: root, user, folder, env, and what the file says of VOLUME, EXPOSE,
# STOPSIGNAL and ENTRYPOINT.
sub new
{
	my ($class, $file, $prefix, %arguments) = @_;
	my $self = bless { prefix => $prefix, context => dirname($file), stages => {},
		chosen => \%arguments, defaults => {} }, $class;
	foreach my $instruction (instructions($file))
	{
		my ($word, $rest) = @$instruction;
		my $step = $self->can("step_$word")
			// die "the test does not know the instruction $word\n";
		$self->$step($rest =~ s/\s+$//r);
	}
	$self->{arguments} = {};    # they are there while the image is made, no longer
	return $self;
}

# The instructions, each as [ word, rest ].
sub instructions
{
	my ($path) = @_;
	my $text = slurp($path);
	$text =~ s/^#.*\n//mg;
	$text =~ s/\\\n/ /g;
	return map { [ split ' ', $_, 2 ] } grep { /\S/ } split /\n/, $text;
}

# Goes to the beginning of a stage; "scratch" is no root, but a folder that COPY fills.
sub be_in
{
	my ($self, $root) = @_;
	@$self{qw(root user folder arguments env)} = ($root, 'root', '/', {},
		{ PATH => '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' });
	return;
}

sub path_of { return chomped('tools/clean-root', 'path', $_[0]); }

# The folder of this stage, or of an earlier one.
sub path { my ($self, $name) = @_; return path_of(defined $name ? $self->stage($name)
		: $self->{root}); }

sub stage { return $_[0]{stages}{ $_[1] } // die "there is no stage $_[1]\n"; }

sub expanded
{
	my ($text, $variables) = @_;
	return $text
		=~ s/\$(?:\{(\w+)\}|(\w+))/$variables->{ $1 \/\/ $2 } \/\/ die "\$$+ is not set\n"/ger;
}

# The command that runs lines of shell where the stage has come to.
sub in_stage
{
	my ($self, $script, @options) = @_;
	my %environment = (%{ $self->{env} }, %{ $self->{arguments} });
	$environment{PATH} = "/usr/lib/ccache:$environment{PATH}";
	my $exports = join '', map { "export $_='$environment{$_}'\n" } sort keys %environment;
	my $inner = $self->{user} eq 'root' ? "sh -euc \"\$1\""
		: "setpriv --reuid=$self->{user} --regid=$self->{user} --init-groups -- sh -euc \"\$1\"";
	return ('tools/clean-root', 'run', $self->{root}, @options, with_ccache(), 'sh', '-euc',
		"${exports}cd '$self->{folder}'\n$inner", 'sh', $script);
}

sub with_ccache
{
	my $cache = path_of('ccache');
	chomped('mkdir', '-p', $cache);
	return ("--bind=$cache:/ccache", 'env', 'CCACHE_DIR=/ccache', 'CCACHE_DEPEND=1',
		'CCACHE_NOHASHDIR=1',
		'CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime');
}

sub remove { my ($self) = @_; remove_root($_) foreach values %{ $self->{stages} }, $self->{root};
	return; }

# ---- the instructions

sub step_ARG
{
	my ($self, $rest) = @_;
	my ($name, $default) = $rest =~ /^(\w+)(?:=(.*))?$/ or die "ARG $rest\n";
	($self->{root} ? $self->{arguments} : $self->{defaults})->{$name} = $self->{chosen}{$name}
		// $default // $self->{defaults}{$name};
	return;
}

# Stages that compile have ccache; otherwise they begin as the images do. Debian's own packages
# stand in for CloudNativePG's image, which has PostgreSQL's packages on the least of Debian.
sub step_FROM
{
	my ($self, $rest) = @_;
	my ($image, $name) = $rest =~ /^(\S+)(?: AS (\w+))?$/ or die "FROM $rest\n";
	$image = expanded($image, $self->{defaults});
	my $root = "$self->{prefix}-" . ($name // 'final');
	my @packages = defined $name ? 'ccache' : ();
	if ($image eq 'scratch') { chomped('tools/clean-root', 'remove', $root) }
	elsif ($image =~ /^debian:(\w+)-slim$/) { make_root($1, $root, @packages) }
	elsif ($image =~ m{^ghcr\.io/cloudnative-pg/postgresql:(\d+)-minimal-(\w+)$})
	{
		make_root($2, $root, "postgresql-$1", @packages);
	}
	else { die "FROM $image: the test does not know this image\n" }
	$self->{stages}{$name} = $root if defined $name;
	$self->be_in($root);
	return;
}

sub step_RUN
{
	my ($self, $rest) = @_;
	return succeeds("RUN $rest", $self->in_stage($rest));
}

# From the context it copies what .dockerignore leaves.
sub step_COPY
{
	my ($self, $rest) = @_;
	my ($from, $paths) = $rest =~ /^(?:--from=(\w+) )?(.*)$/;
	my @paths = split ' ', $paths;
	my $target = $self->path . pop @paths;
	my $source = defined $from ? $self->path($from) : $self->{context};
	foreach my $path (@paths)
	{
		chomped('mkdir', '-p', $target);
		if (!-d "$source/$path") { chomped('cp', "$source/$path", "$target/"); next; }
		chomped('sh', '-c', 'tar -C "$1" ${3:+--anchored --exclude-from="$3"} -cf - $(ls -A "$1") '
			. '| tar -C "$2" --keep-directory-symlink -xf -',
			'sh', "$source/$path", $target, defined $from ? '' : "$source/.dockerignore");
	}
	return;
}

sub step_ENV
{
	my ($self, $rest) = @_;
	my %new = map { split /=/, $_, 2 } split ' ', $rest;
	my %known = (%{ $self->{env} }, %{ $self->{arguments} });
	$self->{env}{$_} = expanded($new{$_}, \%known) foreach keys %new;
	return;
}

sub step_WORKDIR
{
	my ($self, $rest) = @_;
	$self->{folder} = $rest;
	return chomped(in_root($self->{root}, "mkdir -p '$rest'"));
}

sub step_USER { $_[0]{user} = $_[1]; return; }

foreach my $word (qw(VOLUME EXPOSE STOPSIGNAL ENTRYPOINT))
{
	no strict 'refs';
	*{"step_$word"} = sub { $_[0]{$word} = $_[1]; return; };
}

1;
