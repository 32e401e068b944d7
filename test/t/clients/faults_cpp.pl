# A worker in C++ (test/clients/worker.cpp) withstands the faults of HipqWorkerFaults.
use strict;
use warnings;
use HipqWorkerFaults;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs g++, pkg-config, libpq-dev and nlohmann-json3-dev'
  if system("printf '#include <nlohmann/json.hpp>' | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1 && "
  	. "pkg-config --exists libpq") != 0;
my $program = PostgreSQL::Test::Utils::tempdir() . '/worker';
my $flags = "-std=c++20 -O0 -Wall -Wextra -Wshadow -Werror -I'$ENV{HIPQ_ROOT}/clients/cpp/include' "
	. "\$(pkg-config --cflags --libs libpq)";
my $said = `g++ '$ENV{HIPQ_ROOT}/test/clients/worker.cpp' $flags -o '$program' 2>&1`;
ok($? == 0, 'the program compiles') or BAIL_OUT($said);
my $faults = HipqWorkerFaults->new('cpp', [$program], keeps_trying => 1);
$faults->prove;
$faults->silent_server;
done_testing();
