# Functions for the tools that make roots of Debian releases. Sourced, after lib.sh.

# The release that has a version of PostgreSQL.
suite_of() {
    case $1 in
    15) echo bookworm ;;
    17) echo trixie ;;
    18) echo forky ;;
    19) echo experimental ;;
    *) die "no release of Debian is known to have PostgreSQL $1" ;;
    esac
}

# The address of this machine's package mirror. $1: Debian, for the packages of a release; or
# Debian-Security, for later updates. Empty if the machine has no such source.
mirror() {
    local addresses
    addresses=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $1")
    head -n 1 <<<"$addresses"
}

# Unpacks a minimal system of release $2 into folder $1, which must not exist. experimental is an
# addition to sid, from which apt takes only the packages that the root names.
bootstrap() {
    local folder=$1 suite=${2/experimental/sid} address script=
    address=$(mirror Debian)
    [ -n "$address" ] || die "apt has no list of Debian's packages: run apt-get update"
    # debootstrap may be older than the release. Then its script for sid makes the newer release.
    [ -e "/usr/share/debootstrap/scripts/$suite" ] || script=/usr/share/debootstrap/scripts/sid
    # Its mounts disappear when it ends, however it ends.
    unshare --mount --propagation private debootstrap --variant=minbase "$suite" "$folder" "$address" $script || { tail -n 20 "$folder/debootstrap/debootstrap.log"; return 1; }
    if [ "$2" = experimental ]; then
        echo "deb $address experimental main" >>"$folder/etc/apt/sources.list"
        printf 'Package: src:postgresql-19\nPin: release a=experimental\nPin-Priority: 500\n' >"$folder/etc/apt/preferences.d/experimental"
    fi
    # The mirror of a future release may lag behind: its lists are valid for a week.
    echo 'Acquire::Check-Valid-Until "false"; Acquire::Languages "none";' >"$folder/etc/apt/apt.conf.d/90hipq"
    # A root that is incomplete after a crash of the machine is made again.
    echo force-unsafe-io >"$folder/etc/dpkg/dpkg.cfg.d/unsafe-io"
    # Installing a server's package must not start the server.
    printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d"
    chmod 755 "$folder/usr/sbin/policy-rc.d"
}
