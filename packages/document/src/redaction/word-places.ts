import type { Form } from './all-matches.ts';

/** Commands whose word at a place is the secret: what comes before it, bounded. */
export const PLACES: readonly Form[] = [
  ['-pass', /-pass(?:in|out)?[ =]["']?pass:([^\s"']{1,512})/g],
  ['login ', /\b(?:vault|bao) login (?:-no-print )?(?=[^-\s])([^\s"'=]{8,512})(?!\S)/g],
  ['htpasswd', /\bhtpasswd -\S{0,8}b\S{0,8} \S{1,200} \S{1,100} ([^\s"']{1,512})/g],
  ['net user ', /\bnet user (?:\/\S{1,20} )?\S{1,64} ([^\s"'/]\S{0,200})/g],
  [
    'MONITOR ',
    /\bMONITOR \S{1,64}@\S{1,64} [0-9]{1,2} \S{1,64} ["']?([^\s"']{1,128})["']?(?= (?:master|slave|primary|secondary))/g,
  ],
  ['microk8s join ', /\bmicrok8s join [^\s/]{1,100}\/([0-9a-f]{32}(?:\/[0-9a-f]{12})?)/g],
  ['secret,', /\bsecret,id=[\w.-]{1,64},(?:format=\w{1,10},)?data=([^\s,"']{1,512})/g],
  ['/pass', /\/pass(?:word)?:([^\s"']{1,200})/g],
  [' /pass', /\s\/pass(?:word)? (?![/*-])["']?([^\s"']{1,200})/g],
  ['passw', /\/[\w-]{0,40}passw(?:or)?d[\w-]{0,20}[ \t]{1,8}(?:password|string)[ \t]{1,8}([^\s"']{1,512})/g],
  [' -p', / -p["']([^"'\s]{1,200})["']/g],
  ['--password-file=<', /--password-file=<\(echo ([^\s)]{1,512})/g],
  ['SWMTKN', /\bSWMTKN-1-([\w-]{16,200})/g],
  // The value of a setting of that name, as iscsiadm and occ write it, and of a secret that a command stores.
  ['-v', /(?:passw(?:or)?d|secret|token|psk)\S{0,20} [^\r\n]{0,80}?(?:-v|--value)[ =]["']?([^\s"']{1,512})/gi],
  [' use ', /\bnet(?:\.exe)?["']? use [^\r\n]{0,200}?\/u(?:ser)?:\S{1,100} (?!\/)["']?([^\s"']{1,200})/gi],
  [' use ', /\bnet(?:\.exe)?["']? use (?:\S{1,8} )?\\\\\S{1,200} (?![/*])["']?([^\s"']{1,200})(?=["']? \/u)/gi],
  ['/v ', /\/v ["']?\S{0,60}(?:password|secret|token|psk)\S{0,40} [^\r\n]{0,60}?\/d ["']?([^\s"']{1,512})/gi],
  ['SecureString', /\bConvertTo-SecureString(?: -(?:AsPlainText|Force|String)){0,3} \(?\\?["']([^"'\r\n\\]{1,512})/gi],
  ['SecureString', /\bConvertTo-SecureString(?: -(?:AsPlainText|Force|String)){0,3} (?![$(-])([^\s"'();|\\]{4,512})/gi],
  ['SecureString', /["']([^"'\r\n]{1,512})(?=["'] ?\| ?ConvertTo-SecureString)/gi],
  ['operator ', /\b(?:vault|bao) operator (?:unseal|rekey|generate-root)(?: -\S{1,100}){0,4} (?!-)([\w+/=-]{20,512})/g],
  [
    'configure set',
    /\baws configure set (?:\S{1,60}\.)?(?:aws_secret_access_key|aws_session_token) ["']?([^\s"']{1,2048})/g,
  ],
  ['radtest ', /\bradtest (?:-\S{1,20} ){0,4}\S{1,100} ["']?([^\s"']{1,512})/g],
  ['radtest ', /\bradtest [^\r\n]{1,300} [0-9]{1,5} ["']?([^\s"']{1,512})/g],
  ['wpa_cli', /\bwpa_cli [^\r\n]{0,80}?(?:psk|password|passphrase|wep_key[0-3]) ["'\\]{0,4}([^\s"'\\]{1,512})/g],
  [
    'AUTH',
    /(?:> |"|^)AUTH"? ["']?(?!PLAIN\b|LOGIN\b)[\w-]{1,40}["']? ["']?((?=[^\s"']{0,80}[0-9!#$%^&*])[^\s"']{6,512})/g,
  ],
  ['AUTH ', /\b(?:AUTH)(?: default)? ["']?((?=[^\s"']{0,80}[0-9!#$%^&*])[^\s"']{6,512})/g],
  [
    'CONFIG SET ',
    /\b(?:CONFIG SET (?:requirepass|masterauth))(?: default)? ["']?((?=[^\s"']{0,80}[0-9!#$%^&*])[^\s"']{6,512})/g,
  ],
  [' -pw ', /\b(?:pwadd|addprinc|cpw|add_principal|change_password) (?:-\S{1,20} ){0,4}-pw ["']?([^\s"']{1,512})/g],
  [' --type SecureString', /--type SecureString [^\r\n]{0,80}?--value[ =]["']?([^\s"']{1,512})/g],
  // Oracle: a user, its password and a database.
  ...['sqlplus', 'expdp', 'impdp', 'sqlldr', 'dgmgrl', 'rman'].map(
    (program): Form => [
      program,
      /\b(?:sqlplus|expdp|impdp|sqlldr|dgmgrl|rman)["']?,?(?: (?:-\w{1,10}(?: [0-9.]{1,8})?|target|["'])){0,5}[ ="']{1,3}(?:userid=)?[\w$#.]{1,60}\/([^\s@"'/]{1,128})(?=@|["']|\s|$)/g,
    ],
  ),
  ['userid=', /\buserid=["']?[\w$#.]{1,60}\/([^\s@"'/]{2,128})/gi],
  ['conn', /\bconn(?:ect)? ["']?[\w$#.]{1,60}\/([^\s@"'/]{2,128})(?=@)/gi],
  [' user ', /\b(?:db2|CONNECT TO) [^\r\n]{1,80} user \S{1,60} using ([^\s"';]{1,128})/gi],
  [
    'openssl passwd',
    /\bopenssl passwd (?:-(?!stdin|in\b|salt)\S{1,12} |-salt \S{1,40} ){0,4}(?!-)["']?([^\s"']{4,128})/g,
  ],
  [
    'mkpasswd',
    /\bmkpasswd (?:-{1,2}\S{1,20}(?: sha-\d{3}| [0-9]{1,8})? ){0,4}(?![-(])["']?((?=[^\s"']{0,80}[0-9!#$%^&*_-])[^\s"']{4,128})/g,
  ],
  ['http-basic', /\bhttp-basic\.\S{1,100} \S{1,100} ["']?([^\s"']{1,512})/g],
  // Commands of protocols: IMAP, POP3 and FTP, SASL, Redis.
  ['LOGIN ', /(?:^|[\s>:*"'])[A-Za-z]{0,6}\.?[0-9]{1,8} LOGIN ["{]?[^\s"]{1,100}["}]? ["']?([^\s"'\\]{1,256})/g],
  [
    'PASS ',
    /(?:[><]|\bC:|\b(?:sent|client|cmd|command)\b[:=]?|["']) ?["']?PASS (?![/\\])([^\s"'\\]{1,256})(?=["'\\]|\s*$|[\r\n])/g,
  ],
  ['PASS ', /\bUSER \S{1,100}(?:\r|\n|\\[rn]|[;,] ?|\s){1,4}(?:[\w:>-]{1,12} ){0,3}PASS (?![/\\])([^\s"'\\]{1,256})/g],
  ['AUTH', /\bAUTH(?:ENTICATE)? (?:PLAIN|LOGIN|XOAUTH2|OAUTHBEARER) ([\w+/=]{8,2048})/g],
  ['334 ', /\b334 [\w+/=]{0,64}(?:\r?\n|\\r\\n|\\n)(?:[\w<>:-]{1,8} )?([A-Za-z0-9+/]{4,512}={0,2})(?=\s|\\|$)/g],
  ['AUTH', /\bAUTH(?:\r?\n|(?:\\r)?\\n| )\$[0-9]{1,4}(?:\r?\n|(?:\\r)?\\n| )([^\s"'\\]{1,512})/g],
  ['user ', /\buser \S{1,64} (?:on|off)\b[^\r\n>]{0,120} >(\S{1,512})/g],
  ['ETUSER ', /\bACL SETUSER \S{1,64} [^\r\n>]{0,120}>([^\s"']{1,512})/gi],
  // Configurations whose secret has a name only by its place.
  ['stats auth ', /\bstats auth [^\s:]{1,64}:(\S{1,256})/g],
  ['cachemgr_passwd ', /\bcachemgr_passwd (?!none\b|disable\b)(\S{1,256})/g],
  ['login=', /\bcache_peer [^\r\n]{1,200} login=[^\s:]{1,64}:(\S{1,256})/g],
  ['ommunity ', /\b(?:snmp-server|snmp) community (?!["']?(?:string|name|is|not)\b)["']?([^\s"']{1,128})/g],
  ['com2sec', /\bcom2sec6?[ \t]{1,16}(?:-Cn \S{1,64} )?\S{1,64}[ \t]{1,16}\S{1,64}[ \t]{1,16}["']?([^\s"']{1,128})/g],
  ['trap', /\b(?:trap2?sink|informsink)[ \t]{1,16}\S{1,100}[ \t]{1,16}["']?([A-Za-z][^\s"']{1,128})/g],
  [
    'key ',
    /\b(?:isakmp key|(?:radius|tacacs)-server(?: host \S{1,64}(?: [\w-]{1,20} [0-9]{1,5}){0,3})? key|key-string)(?: [0-9])? ["']?([^\s"']{1,128})/g,
  ],
  [' md5 ', /\b(?:message-digest-key|authentication-key) [0-9]{1,5} md5(?: [0-9])? ["']?([^\s"']{1,128})/g],
  ['lftp ', /\blftp [^\r\n]{0,100}?-u \S{1,64},([^\s"']{1,512})/g],
  ['send', /\bsend(?:_user)? (?:-- )?["']([^"'\r\n\\]{4,128})(?=\\[rn])/g],
];

/** Commands with names and values, of which all or those named here are secrets. */
export const PAIRS: readonly { readonly sign: string; readonly line: RegExp; readonly pair: RegExp }[] = [
  {
    sign: 'create secret ',
    line: /\bcreate secret [^\r\n]{1,4096}/g,
    pair: /--from-literal[= ]["']?[\w.-]{1,100}=["']?([^\s"']{1,4096})/g,
  },
  {
    sign: ' kv p',
    line: /\b(?:vault|bao) kv (?:put|patch) [^\r\n]{1,4096}/g,
    pair: /(?<= )(?!-)["']?[\w.-]{1,100}=["']?([^\s"'@-][^\s"']{0,4096})/g,
  },
  {
    sign: ' write ',
    line: /\b(?:vault|bao) write [^\r\n]{1,4096}/g,
    pair: /(?<= )(?:value|jwt|[\w-]{0,40}(?:secret|passw|bindpass|_key|token)[\w-]{0,20})=["']?([^\s"'@][^\s"']{0,4096})/g,
  },
];
