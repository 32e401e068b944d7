# What the tools that make roots of Debian's releases share. Sourced, after lib.sh.

# The release that has a version of PostgreSQL.
suite_of() {
    case $1 in
    15) echo bookworm ;;
    17) echo trixie ;;
    18) echo forky ;;
    *) die "no release of Debian is known to have PostgreSQL $1" ;;
    esac
}

# The address from which this machine's own packages come. $1: Debian, of what a release consists of; or Debian-Security, of what
# came later. Nothing, if the machine has no such source.
mirror() {
    local addresses
    addresses=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $1")
    head -n 1 <<<"$addresses"
}

# Unpacks the least that release $2 is into folder $1, which is not there yet.
bootstrap() {
    local folder=$1 suite=$2 address script=
    address=$(mirror Debian)
    [ -n "$address" ] || die "apt has no list of Debian's packages: run apt-get update"
    # debootstrap is older than the release: all newer ones are made as sid is.
    [ -e "/usr/share/debootstrap/scripts/$suite" ] || script=/usr/share/debootstrap/scripts/sid
    # What it mounts is gone when it ends, however it ends.
    unshare --mount --propagation private debootstrap --variant=minbase "$suite" "$folder" "$address" $script || { tail -n 20 "$folder/debootstrap/debootstrap.log"; return 1; }
    # A mirror of a release that is still to come may lag behind: its lists are good for a week.
    echo 'Acquire::Check-Valid-Until "false"; Acquire::Languages "none";' >"$folder/etc/apt/apt.conf.d/90hipq"
    # What a crash of the machine would leave half done is made anew.
    echo force-unsafe-io >"$folder/etc/dpkg/dpkg.cfg.d/unsafe-io"
    # No server is to be started when its package is installed.
    printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d"
    chmod 755 "$folder/usr/sbin/policy-rc.d"
}
