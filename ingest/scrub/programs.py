"""The table of programs: how each of them is given a secret on its command line."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Program:
    """How a program is given a secret.

    `alone` are options whose next word it is, `glued` options that it follows without a blank, `pairs` options with
    user and password in one word, `places` the number of the bare word that it is (after `verbs`, of which one has to
    be there; negative from the end).
    """

    names: str
    alone: str = ""
    glued: str = ""
    pairs: str = ""
    between: str = ":"
    verbs: str = ""
    places: tuple[int, ...] = ()
    wants: str = ""
    """An option that has to be there for `places` to hold."""
    takes: str = ""
    """Options of which the next word is theirs, so that it does not count as a bare one."""
    chosen: bool = False
    """What stands there counts only if it looks chosen: the program's name is a word as well."""
    drawn: bool = False
    """What stands there counts only if it was drawn, not chosen."""


PROGRAMS: Final[tuple[Program, ...]] = (
    Program("curl", pairs="-u --user -U --proxy-user --proxy-user -su -sSu -iu -ku -sku -vu -fu -Lu -sLu -sfu -fsSLu -skLu -sSfu -ksu -Iu -su -isu", alone="--pass --proxy-pass --oauth2-bearer --tlspassword --key-pass"),
    Program("wget aria2c axel", alone="--password --http-password --ftp-password --proxy-password --http-passwd --ftp-passwd"),
    Program("http https httpie xh xhs", pairs="-a --auth"),
    Program("mysql mariadb mysqldump mariadb-dump mysqladmin mysqlimport mysqlshow mysqlcheck mycli mysqlsh mysqlbinlog mariadb-admin mariadb-backup xtrabackup innobackupex mydumper pt-table-checksum mysqlpump mariadb-check", glued="-p --password="),
    Program("mysqladmin mariadb-admin", verbs="password", places=(0,), takes="-u -h -P -S --user --host"),
    Program("sshpass", alone="-p", glued="-p"),
    Program("docker podman nerdctl buildah skopeo helm oras crane regctl singularity apptainer ctr img", verbs="login", alone="-p --password"),
    Program("skopeo crictl ctr podman buildah", pairs="--creds --src-creds --dest-creds --user -u"),
    Program("redis-cli valkey-cli keydb-cli redis-benchmark", alone="-a --pass -u"),
    Program("mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop", alone="-p --password", glued="-p"),
    Program("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapmodrdn ldapcompare ldapvi", alone="-w -s -a"),
    Program("smbclient rpcclient smbget net winexe wmic pth-winexe smbmap nmblookup smbcacls smbpasswd", pairs="-U --user -u", between="%", alone="--password"),
    Program("net", verbs="user", places=(1,), chosen=True),
    Program("net", verbs="use", places=(2,), chosen=True),
    Program("htpasswd", places=(2,), wants="b"),
    Program("rabbitmqctl", verbs="add_user change_password authenticate_user", places=(1,)),
    Program("zip unzip zipcloak zipnote", alone="-P --password", glued="-P"),
    Program("7z 7za 7zr 7zz rar unrar", glued="-p -hp"),
    Program("openssl", glued="pass:", alone="-k -K -passwd"),
    Program("sqlplus sqlldr expdp impdp exp imp rman sqlcl", pairs=" ", between="/"),
    Program("sqlcmd bcp osql isql tsql bsqldb freebcp mssql-cli go-sqlcmd", alone="-P", glued="-P"),
    Program("ipmitool ipmi-power racadm fru", alone="-P -p"),
    Program("snmpget snmpwalk snmpset snmpbulkwalk snmptrap", alone="-A -X"),
    Program("az", alone="-p --password --account-key --sas-token --connection-string"),
    Program("cf oc ibmcloud tkn rosa", alone="-p --password -t --token --apikey"),
    Program("xfreerdp xfreerdp3 wlfreerdp mstsc", glued="/p: /pass: /gp:"),
    Program("rdesktop", alone="-p"),
    Program("cmdkey cmdkey.exe runas psexec schtasks wmic", glued="/pass: /password: /rp: /p:", alone="-p /p /rp"),
    Program("mc mcli", verbs="alias config host admin user", places=(-1, -2), drawn=True),
    Program("mc mcli", verbs="set", places=(3,), chosen=True),
    Program("vault bao", verbs="login unseal token operator", places=(0,), drawn=True),
    Program("bw rbw", verbs="login unlock", places=(1, 0), drawn=False, takes="--method --code"),
    Program("nmcli", verbs="password psk wifi-sec.psk 802-11-wireless-security.psk", places=(0,)),
    Program("wpa_passphrase", places=(1,)),
    Program("iwctl", alone="--passphrase"),
    Program("netsh", glued="key= keyMaterial= password="),
    Program("twine poetry flit hatch uv pdm devpi", alone="-p --password --token -a --auth"),
    Program("cargo", verbs="login", places=(0,), drawn=True),
    Program("ngrok", verbs="authtoken add-authtoken", places=(0,), drawn=True),
    Program("snyk", verbs="auth", places=(0,), drawn=True),
    Program("doctl hcloud flyctl fly linode-cli", alone="-t --access-token"),
    Program("cloudflared", verbs="install run", places=(0,), alone="--token", drawn=True),
    Program("lftp ncftp ncftpput ncftpget", pairs="-u", between=",", alone="-p"),
    Program("mosquitto_pub mosquitto_sub mqttx mqtt", alone="-P --pw --password"),
    Program("influx clickhouse-client clickhouse cqlsh cypher-shell beeline sqoop trino presto arangosh arangodump couchbase-cli cbq neo4j-admin snowsql vsql nzsql hdbsql", alone="-p --password -password -pwd -w"),
    Program("x11vnc vncviewer vncconnect xtightvncviewer tigervnc", alone="-passwd -p --password"),
    Program("esxcli vim-cmd govc ovftool vifs", alone="-p --password"),
    Program("evil-winrm crackmapexec cme nxc netexec hydra medusa", alone="-p --password -P"),
    Program("oathtool", alone="-b --base32", places=(-1,), wants="b", drawn=True),
    Program("register_new_matrix_user synadm", alone="-p --password -k --shared-secret -t"),
    Program("create-account mas-cli conduwuit", alone="-password --password"),
    Program("jenkins-cli java", pairs="-auth", alone="-storepass -keypass -srcstorepass -deststorepass -destkeypass -srckeypass"),
    Program("keytool jarsigner apksigner", alone="-storepass -keypass -srcstorepass -deststorepass -destkeypass -srckeypass -new", glued="pass:"),
    Program("conan jf jfrog nexus mvn gradle", alone="-p --password --access-token --apikey"),
    Program("nuget choco dotnet", alone="-Password -ApiKey -k --api-key -apikey --apikey -p"),
    Program("xcrun altool notarytool security codesign productbuild", alone="-p --password -w"),
    Program("signtool pvk2pfx makecert", alone="/p -pi -po"),
    Program("ssh-keygen puttygen", alone="-N -P --new-passphrase --old-passphrase"),
    Program("gpg gpg2 gpgsm duplicity borg restic rclone age-plugin", alone="--passphrase --password"),
    Program("plink pscp psftp putty winscp", alone="-pw -passphrase"),
    Program("svn hg bzr", alone="--password"),
    Program("psftp.exe pscp.exe plink.exe", alone="-pw"),
    Program("kinit", alone="--password"),
    Program("useradd usermod adduser", alone="-p --password"),
    Program("samba-tool", verbs="create setpassword setexpiry", places=(1,), alone="--newpassword --password --adminpass"),
    Program("ansible ansible-playbook", glued="ansible_password= ansible_become_pass= ansible_ssh_pass="),
    Program("occ", alone="--password"),
    Program("wp", alone="--user_pass --dbpass --admin_password", glued="--user_pass= --dbpass= --admin_password= --dbpass="),
    Program("expo eas npm yarn", alone="--password -p"),
    Program("heroku", verbs="auth:token", places=(0,), drawn=True),
    Program("gitlab-runner", alone="-r --registration-token --token"),
    Program("tailscale headscale netbird", alone="--authkey --auth-key --setup-key -k"),
    Program("wg", verbs="private-key preshared-key", places=(0,), drawn=True),
    Program("imapsync offlineimap", alone="--password1 --password2"),
    Program("swaks sendemail msmtp mailx ssmtp", alone="-ap -xp --auth-password -pass"),
    Program("tshark openconnect openfortivpn anyconnect", alone="-p --password"),
    Program("chpasswd.exe dscl", verbs="-passwd -create", places=(-1,)),
    Program("b2 b2v3 b2v4", verbs="authorize-account authorize_account authorize", places=(1,), drawn=True),
    Program("gh", verbs="secret variable", alone="--body -b"),
    Program("ansible-vault", verbs="encrypt_string", places=(0,)),
    Program("certutil certreq", alone="-p"),
    Program("drush", verbs="user:password upwd user-password", places=(1,)),
    Program("rclone", verbs="obscure", places=(0,), chosen=True),
    Program("wandb clearml", verbs="login", places=(0,), drawn=True),
    Program("mbc", alone="-p --password"),
    Program("filebrowser", verbs="add", places=(1,)),
    Program("gitea forgejo gogs", verbs="admin", alone="-p --password"),
    Program("mas-cli", verbs="set-password", places=(1,)),
    Program("grafana-cli grafana", verbs="reset-admin-password", places=(0,)),
    Program("sudo", alone=""),
)  # fmt: skip


def by_name() -> dict[str, tuple[Program, ...]]:
    table: dict[str, tuple[Program, ...]] = {}
    for program in PROGRAMS:
        for name in program.names.split():
            table[name] = (*table.get(name, ()), program)
    return table


TABLE: Final = by_name()
