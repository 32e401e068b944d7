#!/usr/bin/perl
# Turns the installed ones of the packages that dpkg-query lists into rows for COPY hipq.demo_packages (job_type, job_key, job_data, timeout) FROM STDIN.
#
# Reads records that end in \x1e, of fields separated by \x1f: status, package, version, size, description. Every so many packages one gets a
# fault that the handler acts out.
use strict;
use warnings;
use JSON::PP ();

my $json = JSON::PP->new->canonical->utf8;

# As COPY's text format wants it.
sub escaped {
    my ($value) = @_;
    my %code = ("\\" => "\\\\", "\t" => "\\t", "\n" => "\\n", "\r" => "\\r");
    $value =~ s/([\\\t\n\r])/$code{$1}/g;
    return $value;
}

sub fault_of {
    my ($number) = @_;
    return 'slow'     if $number == 20;
    return 'bad data' if $number % 150 == 30;
    return 'always'   if $number % 100 == 40;
    return 'twice'    if $number % 100 == 50;
    return 'once'     if $number % 25 == 10;
    return undef;
}

$/ = "\x1e";
my $number = 0;
while (my $record = <STDIN>) {
    chomp $record;
    next if $record !~ /\S/;
    my ($status, $package, $version, $size, $description) = split /\x1f/, $record, 5;
    next if $status ne 'installed';
    utf8::decode($_) for $package, $version, $size, $description;
    my $fault = fault_of(++$number);
    # Paragraphs of a description begin with a blank, empty lines are marked by a dot. NUL is not for jsonb.
    $description =~ s/^ \.?//mg;
    $description =~ tr/\0//d;
    my %data = (package => $package, version => $version, description => $description,
                size_kb => ($fault // '') eq 'bad data' ? 'unknown' : "$size");
    $data{fault} = $fault if defined $fault;
    # Only the slow one has a timeout of its own; NULL means the job type's.
    my $timeout = ($fault // '') eq 'slow' ? 1 : undef;
    my $key = $package;
    utf8::encode($key);
    print join("\t", 'index', escaped($key), escaped($json->encode(\%data)), $timeout // '\\N'), "\n";
}
