# The site that tools/site makes has each page of docs/, its search finds names, and all its links
# work. Text of a page that looks like a template or like HTML is shown as text.
use strict;
use warnings;
use File::Find qw(find);
use File::Path qw(make_path);
use HipqNodeClient;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'needs node and npm' if HipqNodeClient::is_missing();
my $root = $ENV{HIPQ_ROOT};
my $folder = PostgreSQL::Test::Utils::tempdir();
my $site = "$folder/site";
local $ENV{HOME} = $folder;

# Returns the pages that the search finds for these words.
sub places
{
	my ($words) = @_;
	my ($said, $error) = run_command([ 'node', "$site-generator/find.mjs", $site, $words ]);
	is($error, '', "the search for $words has no error");
	return split /\n/, $said;
}

# ---- this checkout

command_ok([ "$root/tools/site/build", $site ], 'the site is made, and all its links work');
my @pages;
find({ no_chdir => 1, wanted => sub { push @pages, s{^\Q$root\E/}{}r if /\.md$/ } }, "$root/docs");
cmp_ok(@pages, '>', 30, 'docs/ has more than 30 pages');
my @missing = grep { !-s "$site/" . s/README\.md$/index.md/r =~ s/\.md$/.html/r } @pages;
is("@missing", '', 'the site has each page of docs/');

my $retry_jobs = '/docs/reference/control.html#retry_jobs';
is((places('retry_jobs'))[0], $retry_jobs, 'the search finds a function');
is((places('hipq.retry_jobs'))[0], $retry_jobs, 'the search finds a function with its schema');
my $parameter = qr{^/docs/reference/queues[.]html#create_queue$};
ok((grep { /$parameter/ } places('worker_wait_ttl')), 'the search finds a parameter');
is(scalar(places('xyzzyplugh')), 0, 'the search does not find a word that is in no page');

# ---- a small site with every kind of dead link

my $sample = "$folder/sample";
make_path("$sample/docs/drawings", "$sample/docs/reference", "$sample/data");
append_to_file("$sample/$_", '# Words') foreach 'CHANGELOG.md', 'docs/reference/README.md';
append_to_file("$sample/data/rows.sql", 'TABLE rows');
append_to_file("$sample/docs/drawings/one.svg", '<svg xmlns="http://www.w3.org/2000/svg"/>');
append_to_file("$sample/README.md", "[Manual](docs/), [changes](CHANGELOG.md), [none](docs/no/)\n");
append_to_file("$sample/docs/page.md", "# A page\n\n## The name_of `it`, again\n\n## Links\n");
append_to_file("$sample/docs/README.md", <<'TEXT');
# Manual

<!-- a mark -->
Text with {{ braces }}, <name> and <!-- another --> `{{ code }} <name>`. <b>

    {{ block }} <name>

```text
{{ fence }} <name>
```

## Links

[There](page.md#the-name_of-it-again), [here](#links), [a file](../data/rows.sql),
[data](../data), ![drawn](drawings/one.svg), [a drawing](drawings/one.svg),
[no page](none.md), [no heading](page.md#none), [nor here](#none), [no file](none.sql),
![no picture](none.png).
TEXT
my ($made, $complaints) = run_command([ "$root/tools/site/build", $site, $sample ]);
is($made, '', 'a site with dead links is not made');
is($complaints, <<'TEXT' =~ s/\n\z//r, 'a failed site names each dead link');
docs/index.html: ./none.html leads nowhere
docs/index.html: ./page.html#none leads nowhere
docs/index.html: #none leads nowhere
docs/index.html: none.sql leads nowhere
docs/index.html: ./none.png leads nowhere
index.html: docs/no/ leads nowhere
build: links lead nowhere
TEXT
my ($shown) = slurp_file("$site/docs/index.html") =~ m{<main.*?>(.*)</main>}s;
like($shown, qr/\Q$_\E/, "$_ is text")
  foreach 'Text with {{ braces }}, &lt;name&gt;', '<code>{{ code }} &lt;name&gt;</code>. &lt;b&gt;',
  '<code>{{ block }} &lt;name&gt;', '{{ fence }} &lt;name&gt;';
unlike($shown, qr/a mark|another/, 'comments are not shown');
like(slurp_file("$site/data/index.html"), qr/href="rows.sql"/, 'a folder lists its files');
is(slurp_file("$site/data/rows.sql"), 'TABLE rows', "a folder's files are part of the site");

done_testing();
