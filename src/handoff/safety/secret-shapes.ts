// Texts whose shape gives a secret away, as data: addresses, webhooks, lines of well-known files, statements, and options of
// well-known programs. Every expression is bounded, so that a long text takes time in proportion.

/** The secret is the group `secret`, or the whole match. */
export interface ShapeForm {
  readonly kind: string
  readonly pattern: RegExp
  /** The shape also fits plain words: the secret has to look like no word of code or prose. */
  readonly doubtful?: boolean
}

export interface CommandForm {
  /** Separated by blanks. */
  readonly programs: string
  /** Matches within one command, behind the program; the secret is the group `secret`. */
  readonly option: RegExp
}

export const shapeForms: readonly ShapeForm[] = [
  { kind: 'JSON web token', pattern: /\beyJ[\w-]{8,8000}\.eyJ[\w-]{8,8000}(?:\.[\w-]{0,8000})?/g },
  {
    kind: 'encrypted JSON web token',
    pattern: /\beyJ[\w-]{8,800}\.[\w-]{0,1000}\.[\w-]{8,100}\.[\w-]{4,8000}\.[\w-]{16,100}/g,
  },
  { kind: 'Mapbox token', pattern: /\b(?:sk|tk)\.eyJ[\w-]{20,400}\.[\w-]{10,100}/g },
  {
    kind: 'basic auth',
    pattern: /:\/\/(?<=https?:\/\/)(?<secret>[^\s/:@"'`<>?#]{0,200}:[^\s/"'`<>?]{1,300})@(?=[\w[])/g,
  },
  { kind: 'login', pattern: /:\/\/(?<!https?:\/\/)(?<secret>[^\s/:@"'`<>?#]{0,200}:[^\s/"'`<>?]{1,300})@(?=[\w[])/g },
  {
    // With the address of a mailbox as the user.
    kind: 'password',
    pattern: /:\/\/[^\s/:@"'`<>?#]{1,100}@[\w.-]{1,100}:(?<secret>[^\s/"'`<>?@]{3,300})@(?=[\w[])/g,
  },
  { kind: 'token', pattern: /:\/\/(?<secret>[^\s/:@"'`<>?#]{16,200}):?@(?=[\w[])/g, doubtful: true },
  {
    kind: 'Slack webhook',
    pattern: /hooks\.slack(?:-gov)?\.com\/(?:services|workflows|triggers)\/(?<secret>[\w/-]{16,120})/g,
  },
  {
    kind: 'Discord webhook',
    pattern: /discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/(?<secret>\d{10,25}\/[\w-]{30,120})/g,
  },
  {
    kind: 'webhook',
    pattern: /https?:\/\/[^\s/]{3,100}\/(?:[\w-]{1,40}\/){0,4}(?:web)?hooks?\w{0,4}\/(?<secret>[\w@/-]{24,300})/g,
    doubtful: true,
  },
  { kind: 'Teams webhook', pattern: /webhook\.office\.com\/webhookb2\/(?<secret>[\w@/-]{30,300})/g },
  { kind: 'webhook', pattern: /hooks\.zapier\.com\/hooks\/catch\/(?<secret>[\w/]{8,80})/g },
  { kind: 'webhook', pattern: /maker\.ifttt\.com\/trigger\/\w{1,60}\/(?:json\/)?with\/key\/(?<secret>[\w-]{10,80})/g },
  {
    kind: 'webhook',
    pattern: /open\.(?:feishu\.cn|larksuite\.com)\/open-apis\/bot\/v2\/hook\/(?<secret>[\w-]{16,60})/g,
  },
  { kind: 'webhook', pattern: /\/hooks\/(?<secret>[a-z0-9]{26})(?![\w-])/g, doubtful: true },
  {
    kind: 'node address',
    pattern: /\b(?:infura\.io|alchemy\.com|quiknode\.pro|ankr\.com)\/(?:\w{1,12}\/){0,2}(?<secret>[\w-]{24,80})/g,
    doubtful: true,
  },
  { kind: 'ClickUp token', pattern: /\bpk_\d{5,12}_[A-Z0-9]{32}\b/g },
  { kind: 'Pushbullet token', pattern: /(?<![\w.])o\.[A-Za-z0-9]{32}(?!\w)/g, doubtful: true },
  {
    kind: 'password',
    pattern:
      /assword["']?\s{0,2}[:=]\s{0,2}["']?(?<secret>(?=[\w ]{0,30}\d)(?:[A-Za-z0-9]{4} ){3,5}[A-Za-z0-9]{4})(?![\w])/g,
  },
  { kind: 'Telegram token', pattern: /(?<![\d:.])\d{8,10}:[A-Za-z][\w-]{34}(?![\w-])/g },
  {
    kind: 'Discord token',
    pattern: /(?<![\w.-])(?:mfa\.[\w-]{80,90}|[MNO][\w-]{22,28}\.[\w-]{6,7}\.[\w-]{27,40})(?![\w.-])/g,
    doubtful: true,
  },
  { kind: 'Terraform token', pattern: /(?:\b[A-Za-z0-9]{10,20})?\.atlasv1\.[\w-]{50,100}/g },
  { kind: 'Mailchimp key', pattern: /-us(?<=\b(?<secret>[0-9a-f]{32})-us)\d{1,2}\b/dg },
  { kind: 'Azure client secret', pattern: /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~-])/g },
  { kind: 'Azure DevOps token', pattern: /AZDO(?<=\b(?<secret>[A-Za-z0-9]{76})AZDO)[A-Za-z0-9]{4}\b/dg },
  {
    kind: 'Azure key',
    pattern:
      /(?:\+ASt|\+AMC|ACDb|\+AEh|AIoT|\+ARm|AzSe|AzFu)(?<=(?<![\w+/])(?<secret>[A-Za-z0-9+/]{37,80}))[A-Za-z0-9+/]{4,8}={0,2}(?![\w+/])/dg,
  },
  { kind: 'Firebase key', pattern: /\bAAAA[\w-]{7}:[\w-]{120,180}/g },
  { kind: 'wallet key', pattern: /(?<![\w/+-])[5KL][1-9A-HJ-NP-Za-km-z]{50,51}(?![\w/+=-])/g, doubtful: true },
  { kind: 'private key', pattern: /"(?:d|dp|dq|qi|k)"\s{0,3}:\s{0,3}"(?<secret>[\w-]{32,700})"/g, doubtful: true },
  { kind: 'private key', pattern: /Private-Lines: \d+\s+(?<secret>(?:[A-Za-z0-9+/=]{1,80}\s{1,2}){1,100})/g },
  {
    kind: 'authorization',
    pattern:
      /\b(?:(?:[Bb]earer|BEARER|[Bb]asic|SSWS)\s{1,3}|[Tt]oken token=)["']?(?<secret>(?:\d{1,9}\|)?[\w.~+/=-]{12,8000})/g,
    doubtful: true,
  },
  { kind: 'signature', pattern: /\bAWS4-HMAC-SHA256\b[^\n]{0,400}?Signature=(?<secret>[0-9a-f]{40,128})/g },
  { kind: 'password', pattern: /\blogin\s{1,20}\S{1,200}\s{1,20}password\s{1,20}(?<secret>\S{1,200})/g },
  {
    kind: 'password',
    pattern: /^[\w.*-]{1,100}:(?:5432|5433|6432|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?<secret>\S{1,200})$/gm,
  },
  {
    kind: 'password',
    pattern: /^[\w.*-]{1,100}:\d{4,5}:[\w*.-]{1,60}:[\w*.-]{1,60}:(?<secret>\S{1,200})$/gm,
    doubtful: true,
  },
  {
    kind: 'password',
    pattern: /\becho\s+(?:-n\s+)?["']?[\w.-]{1,60}:(?<secret>[^"'\s|]{2,200})["']?\s*\|\s*(?:sudo\s+)?chpasswd/g,
  },
  {
    kind: 'password',
    pattern:
      /\b(?:echo|printf)\s+(?:-n\s+)?["']?(?<secret>[^"'\s|]{2,400})["']?\s*\|\s*(?:sudo\s+-\S*S|\S{1,40}\s+[^\n|]{0,100}--(?:password-stdin|with-token|stdin\b|passphrase-fd|token-stdin)|cryptsetup|(?:gcloud|docker|podman|gh|wrangler|npx\s+wrangler|fly|flyctl)\s+secrets?\s|vercel\s+env\s)/g,
  },
  { kind: 'password', pattern: /\bchpasswd\s{0,3}<<<\s{0,3}["']?[\w.-]{1,60}:(?<secret>[^"'\s]{2,200})/g },
  { kind: 'password', pattern: /\bsnmp-server\s+community\s+(?<secret>\S{3,100})/g },
  {
    kind: 'password',
    pattern:
      /^[ \t]{0,8}"?[\w.@\\-]{1,60}"?[ \t]{1,20}[\w*.-]{1,60}[ \t]{1,20}"(?<secret>[^"\n]{3,100})"[ \t]{1,20}\*/gm,
  },
  { kind: 'token', pattern: /\blogin\s{1,3}(?<secret>(?=\S{0,80}\d)\w{20,400})(?![\w.-])/g, doubtful: true },
  { kind: 'Asana token', pattern: /(?<![\w/.])[012]\/(?<secret>(?:\d{10,20}(?:\/\d{10,20})?:)?[0-9a-f]{32})(?!\w)/g },
  {
    // `tgp_v1_…`: a short lower-case name, and a long run in which no word could be.
    kind: 'token',
    pattern:
      /(?<![\w-])(?!pk_)[a-z][a-z0-9]{1,9}_(?:[a-z0-9]{1,6}_){0,2}(?=[A-Za-z0-9]{0,200}[A-Z])(?=[A-Za-z0-9]{0,200}[a-z])(?=[A-Za-z0-9]{0,200}\d)[A-Za-z0-9]{32,200}(?![\w-])/g,
    doubtful: true,
  },
  { kind: 'password', pattern: /\/user:\S{1,80}\s+(?<secret>[^\s/]{3,100})/gi, doubtful: true },
  {
    kind: 'password',
    pattern: /\bidentified\s+(?:with\s+\S{1,40}\s+)?by\s+(?:password\s+)?["'](?<secret>[^'"\n]{2,200})/gi,
  },
  {
    kind: 'password',
    pattern: /\b(?:PASSWORD|(?:with|encrypted) password)\s{1,3}(?:=\s{0,3})?'(?<secret>[^'\n]{2,200})'/g,
  },
  { kind: 'password', pattern: /\bPASSWORD\(\s{0,3}["'](?<secret>[^'"\n]{2,200})["']/g },
  {
    kind: 'password',
    pattern: /\bSET PASSWORD[^=\n]{0,60}=\s{0,3}'(?<secret>[^'\n]{2,200})'/gi,
  },
  {
    kind: 'password',
    pattern: /\bSETUSER\s+\S{1,60}\s[^\n]{0,60}?>(?<secret>[^\s>]{2,200})/gi,
  },
  {
    kind: 'password',
    pattern: /\b(?:password|secret)\s+[05789]\s+(?<secret>[^\s;]{4,200})/g,
  },
  { kind: 'authorization', pattern: /\bAUTH\s+(?:PLAIN|LOGIN)\s+(?<secret>[A-Za-z0-9+/=]{8,400})/g, doubtful: true },
  {
    kind: 'password',
    pattern:
      /(?:auth|auth\.basic|credentials?|creds|login)["']?\s{0,2}[=:]\s{0,2}[([]\s{0,2}["'][^"'\n]{1,80}["']\s{0,2},\s{0,2}["'](?<secret>[^"'\n]{3,200})["']/g,
  },
  {
    kind: 'password',
    pattern:
      /(?:BasicAuth|HTTPDigestAuth|\bbasic_?auth|\.auth|\blogin|\bauthenticate)\(\s{0,3}["'][^"'\n]{1,80}["']\s{0,2},\s{0,2}(?:Some\()?["'](?<secret>[^"'\n]{3,200})["']/g,
  },
  {
    // The third argument: behind a host or an address, and a user.
    kind: 'password',
    pattern:
      /(?:mysqli?_p?connect|\bmysqli|\bpg_p?connect|\bPDO|\bSequelize|\b[gG]etConnection|\bldap_bind|\bftp_login|\bimap_open|\bssh2_auth_password|\bkeyring\.set_password|\bcreate_(?:super)?user)\(\s{0,9}[^,()\n]{1,160},\s{0,9}["'][^"'\n]{1,80}["'],\s{0,9}["'](?<secret>[^"'\n]{3,200})["']/g,
  },
  {
    // The second argument: behind a user, or the id of an account.
    kind: 'password',
    pattern:
      /(?:Credentials?|PasswordAuthentication|PasswordAuthenticationToken|OAuthHandler|\bWiFi\.begin|\b[tT]wilio|\bClient|\bConsumer)\(\s{0,9}["'][^"'\n]{1,80}["'],\s{0,9}["'](?<secret>[^"'\n]{5,200})["']/g,
    doubtful: true,
  },
  {
    // The only argument, or the first, of a client of a service.
    kind: 'API key',
    pattern:
      /(?:Client|ClientV2|\bStripe|\bstripe|\bResend|\bOpenAI|\bAnthropic|\bGroq|\bMistral|\bCohere|\bTelegraf|\bTeleBot|\bBot|\bPinecone|\bSendGridAPIClient|\bPostHog|\bMixpanel|\bAirtable|\bOctokit|\bGithub|\bsetApiKey|\bset_api_key|\bWithAPIKey|\b[wW]ithToken|\bbearer_?auth|[bB]earerToken|\b[sS]et_?(?:[aA]uth_?)?[tT]oken|\binit)\(\s{0,9}["'](?<secret>[\w.-]{20,300})["']/g,
    doubtful: true,
  },
  { kind: 'password', pattern: /["'\s=`][\w.-]{1,60}:(?<secret>[^\s"'@/:`]{2,100})@(?:tcp|unix)\(/g },
  { kind: 'private key', pattern: /-key\s{1,3}<\(\s{0,2}(?:echo|printf)\s{1,3}["']?(?<secret>[A-Za-z0-9+/]{42,43}=)/g },
  { kind: 'password', pattern: /\bConvertTo-SecureString\s+(?:-String\s+)?["'](?<secret>[^"'\n]{3,200})["']/gi },
  { kind: 'password', pattern: /\bPRAGMA\s+(?:hex)?(?:re)?key\s{0,3}=\s{0,3}["'](?<secret>[^"'\n]{3,200})["']/gi },
  {
    kind: 'password',
    pattern:
      /^(?:[\w.:[\]-]{0,40}>)?\s{0,3}AUTH\s{1,3}(?:[\w-]{1,40}\s{1,3})?["']?(?<secret>[^\s"']{5,200})["']?[ \t]*$/gm,
    doubtful: true,
  },
  { kind: 'password hash', pattern: /:[0-9a-f]{32}:(?<secret>[0-9a-f]{32}):::/gi },
  {
    kind: 'password',
    pattern:
      /\s--(?:user|proxy-user|auth|basic-auth|creds|credentials)[ =]["']?[\w.@-]{1,60}:(?<secret>[^\s"']{4,200})/g,
    doubtful: true,
  },
  {
    kind: 'password',
    pattern: /\brabbitmqctl\s[^\n]{0,60}?(?:add_user|change_password)\s+\S{1,60}\s+["']?(?<secret>[^\s"']{3,200})/g,
  },
  {
    // As commands of FTP.
    kind: 'password',
    pattern: /^[ \t]{0,8}user\s+[\w.@-]{1,60}\s+(?<secret>(?=\S{0,60}[A-Z!@#$%])(?=\S{0,60}\d)\S{5,100})[ \t]*$/gm,
    doubtful: true,
  },
  { kind: 'token', pattern: /\bcodecov\b[^\n]{0,100}?\s-t[ =](?<secret>[\w-]{30,60})/g },
  { kind: 'token', pattern: /\bx-honeycomb-team\b["']?\s{0,2}[:=,]\s{0,2}["']?(?<secret>\w{20,80})/gi },
  { kind: 'API key', pattern: /[?&]app_?id=(?<secret>[0-9a-f]{32})(?!\w)/gi },
  { kind: 'API key', pattern: /\/integration\/(?<secret>\w{32})\/enqueue/g },
  {
    kind: 'account key',
    pattern:
      /(?:primary|secondary)_?key["']?\s{0,3}[:=]\s{0,3}["']?(?<secret>[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)(?![\w+/=])/gi,
  },
  { kind: 'token', pattern: /sonar\.login["']?\s{0,2}[=:]\s{0,2}["']?(?<secret>\w{20,80})/g },
  {
    kind: 'unseal key',
    pattern: /\bunseal\s{1,3}["']?(?<secret>[A-Za-z0-9+/]{40,66}={0,2})(?![\w+/=])/g,
    doubtful: true,
  },
  { kind: 'unseal key', pattern: /\b(?:Unseal|Recovery) Key \d{1,2}: {0,3}(?<secret>[A-Za-z0-9+/=]{20,100})/g },
  {
    kind: 'secret',
    pattern: /\b[Ss]ecret ?ID\s{0,20}[:=]\s{0,3}(?<secret>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/g,
  },
  {
    kind: 'password',
    pattern: /\bpass(?:word)?["']?\s{0,3}[:=]\s{0,3}["'](?<secret>[a-z]{4} [a-z]{4} [a-z]{4} [a-z]{4})["']/gi,
  },
  {
    kind: 'secret',
    pattern:
      /\bjwt(?::|__|["']\s{0,3}:\s{0,3}\{[^{}]{0,200}?["'])key["']?\]?\s{0,3}[:=]\s{0,3}["'](?<secret>[^"'\n]{16,300})["']/gi,
    doubtful: true,
  },
  {
    kind: 'encryption key',
    pattern: /\bencryption["']?:\s{0,20}\{?\s{0,20}["']?key["']?:\s{0,3}["']?(?<secret>[A-Za-z0-9+/]{43}=)/g,
  },
  { kind: 'signature', pattern: /\bsig=(?<secret>[A-Za-z0-9%]{40,64}%3D)/gi },
  { kind: 'webhook', pattern: /\bhc-ping\.com\/(?<secret>[0-9a-f-]{36})/g },
  { kind: 'Lambda API key', pattern: /\bsecret_\w{10,40}_[0-9a-f]{32}\.[A-Za-z0-9]{20,64}/g },
  { kind: 'API key', pattern: /"username":\s{0,3}"[^"\n]{1,80}",\s{0,9}"key":\s{0,3}"(?<secret>[0-9a-f]{32})"/g },
  { kind: 'encryption key', pattern: /\b[Ff]ernet(?:\(b?["']| [Kk]ey:\s{0,3})(?<secret>[\w-]{43}=)/g },
  { kind: 'token', pattern: /\bsnyk\s+auth\s+(?<secret>[0-9a-f-]{36})/g },
  { kind: 'token', pattern: /\bcloudflared\s+service\s+install\s+(?<secret>[A-Za-z0-9+/=]{60,600})/g },
  { kind: 'Salesforce session', pattern: /\b00D[A-Za-z0-9]{12,15}![\w.]{60,200}/g },
  {
    kind: 'password',
    pattern:
      /\b(?:echo\s+-n|printf)\s+["']?[\w.@-]{1,60}:(?<secret>[^"'\s|$]{3,200})["']?\s{0,3}\|\s{0,3}(?:openssl\s+)?base64/g,
  },
  { kind: 'password', pattern: /\bnet\s+user\s+\S{1,60}\s+(?<secret>[^\s/]{3,100})/gi, doubtful: true },
  { kind: 'password', pattern: /\bhttp-basic\.\S{1,100}\s+\S{1,60}\s+(?<secret>[^\s"']{3,200})/g },
  { kind: 'password', pattern: /\bjdbc:oracle:\w{2,6}:\w{1,60}\/(?<secret>[^@\s"'/]{1,100})@/g },
  { kind: 'secret', pattern: /\bjwt\.\w{4,10}\([^,\n]{1,80},\s{0,3}["'](?<secret>[^"'\n]{4,200})["']/gi },
  {
    kind: 'secret',
    pattern:
      /\b(?:createHmac\(\s{0,3}["'][\w-]{2,20}["']\s{0,3},|hmac\.new\()\s{0,3}b?["'](?<secret>[^"'\n]{4,200})["']/g,
  },
  { kind: 'password', pattern: /\bbcrypt\w{0,10}\.\w{4,20}\(\s{0,3}b?["'](?<secret>[^"'\n]{4,200})["']/g },
  {
    kind: 'password',
    pattern:
      /\.(?:auth|authenticate|login|(?:set_?|with_?)?(?:password|passwd|secret|token|api_?key))\(\s{0,3}["'](?<secret>[^"'\s]{5,200})["']\s{0,3}\)/gi,
    doubtful: true,
  },
  { kind: 'password', pattern: /^PASS\s+(?<secret>\S{4,200})\s*$/gm, doubtful: true },
  { kind: 'password', pattern: /\bWIFI:[^\n]{0,100}?;P:(?<secret>[^;\n]{4,100})/g },
  {
    kind: 'password',
    pattern: /assword[^\n]{0,12}[\n{]\s{0,8}send\s+(?:--\s+)?"(?<secret>[^"\\\n]{2,200})/g,
  },
  {
    kind: 'password',
    pattern:
      /\b(?:[Uu]se|[Ww]ith|[Tt]ry|[Ee]nter|[Tt]ype)\s+["'`]?(?<secret>[^\s"'`]{5,100})["'`]?\s+(?:as|for)\s+(?:the\s+|my\s+|your\s+|a\s+|its\s+)?(?:\w{1,20}\s+){0,2}(?:password|passphrase|passcode|pw|token|secret|api key)\b/g,
    doubtful: true,
  },
  {
    kind: 'password',
    pattern:
      /\b(?:[Ll]ogin|[Cc]redentials?|[Cc]reds|[Aa]ccount|Zugangsdaten|Anmeldedaten|[Ii]dentifiants|[Cc]redenciales|[Ll]og in with|[Ss]ign in with|[Ll]ogged in as|user\/pass(?:word)?|username\/password)(?:\s{0,3}[:=]\s{0,3}|\s+(?:(?:are|is|with|as)\s+)?)["'`]?[\w.@+-]{2,80}\s?[:/]\s?(?<secret>[^\s"'`,;<>]{4,100})/g,
    doubtful: true,
  },
]

/** What follows an option, in quotes or not. */
const argument = String.raw`["']?(?<secret>(?<=")[^"\n]{3,300}|(?<=')[^'\n]{3,300}|[^\s"'${'`'}<>]{3,300})`

function option(flag: string): RegExp {
  return new RegExp(String.raw`\s${flag}${argument}`, 'd')
}

export const commandForms: readonly CommandForm[] = [
  {
    programs: 'curl wget http https xh hurl etcdctl',
    option: /\s(?:-u|--user|-a|--auth|-U|--proxy-user)[ =]{0,2}["']?[^\s"':/]{0,100}:(?<secret>[^\s"']{1,300})/d,
  },
  {
    programs: 'mysql mysqldump mysqladmin mysqlimport mysqlsh mysqlcheck mariadb mariadb-dump mariadb-admin mycli',
    option: option('-p'),
  },
  { programs: 'ssh-keygen', option: option(String.raw`-[NP]\s{1,2}`) },
  {
    programs: 'aws',
    option: new RegExp(
      String.raw`^[^\n]{0,60}?\sssm\s+put-parameter\s(?=[^\n]{0,300}SecureString)[^\n]{0,300}?--value[ =]${argument}`,
      'd',
    ),
  },
  {
    programs: 'pulumi',
    option: new RegExp(
      String.raw`\sconfig\s+set\s(?=[^\n]{0,200}--secret)(?:\s{0,3}--\S{1,40}){0,4}\s{0,3}[A-Za-z][\w:.-]{1,80}\s{1,3}${argument}`,
      'd',
    ),
  },
  { programs: 'ansible-vault', option: option(String.raw`encrypt_string\s{1,2}(?!-)`) },
  {
    programs: 'security',
    option: new RegExp(String.raw`\sadd-(?:generic|internet)-password\s[^\n]{0,200}?\s-w\s{1,2}${argument}`, 'd'),
  },
  { programs: 'rclone', option: option(String.raw`obscure\s{1,2}`) },
  { programs: 'wpa_passphrase', option: option(String.raw`\S{1,40}\s{1,2}`) },
  { programs: 'kinit wrangler cryptsetup sudo su passwd gpg', option: option(String.raw`<<<\s{0,2}`) },
  { programs: 'certutil', option: option(String.raw`-p\s{1,2}`) },
  {
    programs: 'gh',
    option: new RegExp(String.raw`^\s+secret\s+set\s[^\n]{0,200}?(?:--body|-b)[ =]{1,2}${argument}`, 'd'),
  },
  { programs: 'mc', option: option(String.raw`alias\s+set\s+\S+\s+\S+\s+\S+\s{1,2}`) },
  { programs: 'snmpwalk snmpget snmpset snmpbulkwalk', option: option(String.raw`-[cAX]\s{1,2}`) },
  { programs: 'sshpass', option: option(String.raw`-p\s{0,2}`) },
  {
    programs: 'docker podman nerdctl skopeo oras crane buildah helm az oc cf ibmcloud argocd tsh',
    option: new RegExp(String.raw`\slogin\b[^\n]{0,200}?\s-p[ =]{1,2}${argument}`, 'd'),
  },
  {
    programs:
      'mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh snowsql rabbitmqadmin rdesktop clickhouse-client twine eas airflow smbmap hydra evil-winrm crackmapexec netexec psexec arangosh couchdb snow',
    option: option(String.raw`-p\s{1,2}`),
  },
  {
    programs: 'sqlcmd bcp osql isql tsql mosquitto_pub mosquitto_sub zip unzip ipmitool',
    option: option(String.raw`-P\s{0,2}`),
  },
  { programs: 'redis-cli valkey-cli', option: option(String.raw`-a\s{1,2}`) },
  { programs: 'ldapsearch ldapadd ldapmodify ldapwhoami ldapdelete ldappasswd', option: option(String.raw`-w\s{1,2}`) },
  { programs: '7z 7za 7zr 7zz rar unrar', option: option('-p') },
  { programs: 'xfreerdp wfreerdp', option: option('/p:') },
  { programs: 'openssl', option: option(String.raw`(?:-pass(?:in|out|word)?\s+pass:|-k\s{1,2})`) },
  {
    programs: 'smbclient rpcclient mount.cifs',
    option: /\s-U\s{0,2}["']?[^\s%"']{1,80}%(?<secret>[^\s"']{1,200})/d,
  },
  { programs: 'lftp', option: /\s-u\s{1,2}["']?[^\s,"']{1,80},(?<secret>[^\s"']{1,200})/d },
  {
    programs: 'sqlplus sqlldr expdp impdp rman',
    option: /\s(?:userid=)?["']?\w{1,60}\/(?<secret>[^@\s"'/]{1,100})(?=@|["']?(?:\s|$))/d,
  },
  {
    programs: 'htpasswd',
    option: /^\s+-[A-Za-z]*b[A-Za-z]*\s+(?:\d+\s+)?(?:\S{1,200}\s+){1,2}?(?<secret>\S{3,200})\s*$/d,
  },
]
