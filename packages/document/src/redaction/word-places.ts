import type { Form } from './all-matches.ts';

/** Commands whose word at a place is the secret: what comes before it, bounded. */
export const PLACES: readonly Form[] = [
  ['-pass', /-pass(?:in|out)?[ =]["']?pass:([^\s"']{1,512})/g],
  ['login ', /\b(?:vault|bao) login (?:-no-print )?(?=[^-\s])([^\s"'=]{8,512})(?!\S)/g],
  ['htpasswd', /\bhtpasswd -\S{0,8}b\S{0,8} \S{1,200} \S{1,100} ([^\s"']{1,512})/g],
  ['wpa_passphrase ', /\bwpa_passphrase \S{1,64} ([^\s"']{8,64})/g],
  ['rabbitmqctl', /\brabbitmqctl (?:change_password|add_user|authenticate_user) \S{1,100} ([^\s"']{1,512})/g],
  ['net user ', /\bnet user \S{1,64} ([^\s"'/]\S{0,200})/g],
  ['/pass', /\/pass(?:word)?:([^\s"']{1,200})/g],
  [' -p', / -p["']([^"'\s]{1,200})["']/g],
  ['--password-file=<', /--password-file=<\(echo ([^\s)]{1,512})/g],
  ['SWMTKN', /\bSWMTKN-1-([\w-]{16,200})/g],
  ['auth.password', /-(?:n|-name)[ =]\S{0,80}password(?:_in)? (?:-v|--value)[ =]["']?([^\s"']{1,512})/g],
  [' use ', /\bnet(?:\.exe)?["']? use [^\r\n]{0,200}?\/u(?:ser)?:\S{1,100} (?!\/)["']?([^\s"']{1,200})/gi],
  [' use ', /\bnet(?:\.exe)?["']? use (?:\S{1,8} )?\\\\\S{1,200} (?![/*])["']?([^\s"']{1,200})(?=["']? \/u)/gi],
  ['/v ', /\/v ["']?\S{0,60}(?:password|secret|token|psk)\S{0,40} [^\r\n]{0,60}?\/d ["']?([^\s"']{1,512})/gi],
  ['SecureString', /\bConvertTo-SecureString(?: -(?:AsPlainText|Force|String)){0,3} \(?["']([^"'\r\n]{1,512})/gi],
  ['SecureString', /\bConvertTo-SecureString(?: -String)? (?![$(-])([^\s"'();|]{4,512})/gi],
  ['SecureString', /["']([^"'\r\n]{1,512})(?=["'] ?\| ?ConvertTo-SecureString)/gi],
  ['Credential', /NetworkCredential ?\(? ?["'][^"'\r\n]{0,100}["'], ?["']([^"'\r\n]{1,512})/gi],
  ['operator ', /\b(?:vault|bao) operator (?:unseal|rekey|generate-root)(?: -\S{1,100}){0,4} (?!-)([\w+/=-]{20,512})/g],
  ['virsh', /\bvirsh secret-set-value(?: --\S{1,20}){0,2} [0-9a-f-]{36} (?:--base64 )?([^\s"'-][^\s"']{1,512})/g],
  ['mc ', /\bmc (?:alias|config host) (?:set|add) \S{1,100} \S{1,200} \S{1,200} ["']?([^\s"']{1,512})/g],
  [
    'configure set',
    /\baws configure set (?:\S{1,60}\.)?(?:aws_secret_access_key|aws_session_token) ["']?([^\s"']{1,2048})/g,
  ],
  ['radtest ', /\bradtest (?:-\S{1,20} ){0,4}\S{1,100} ["']?([^\s"']{1,512})/g],
  ['radtest ', /\bradtest [^\r\n]{1,300} [0-9]{1,5} ["']?([^\s"']{1,512})/g],
  ['samba-tool', /\bsamba-tool user (?:create|add|setpassword) (?!-)\S{1,100} (?!-)["']?([^\s"']{1,512})/g],
  ['wpa_cli', /\bwpa_cli [^\r\n]{0,80}?(?:psk|password|passphrase|wep_key[0-3]) ["'\\]{0,4}([^\s"'\\]{1,512})/g],
  ['AUTH ', /\b(?:AUTH)(?: default)? ["']?((?=[^\s"']{0,80}[0-9!#$%^&*])[^\s"']{6,512})/g],
  [
    'CONFIG SET ',
    /\b(?:CONFIG SET (?:requirepass|masterauth))(?: default)? ["']?((?=[^\s"']{0,80}[0-9!#$%^&*])[^\s"']{6,512})/g,
  ],
  [' -pw ', /\b(?:pwadd|addprinc|cpw|add_principal|change_password) (?:-\S{1,20} ){0,4}-pw ["']?([^\s"']{1,512})/g],
  ['ngrok ', /\bngrok (?:config add-)?authtoken ([^\s"']{8,512})/g],
  ['admin ', /\b(?:mysqladmin|mariadb-admin) [^\r\n]{0,200}?\bpassword ["']?([^\s"']{1,512})/g],
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
