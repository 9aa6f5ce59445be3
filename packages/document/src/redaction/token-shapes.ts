/**
 * Credentials with a recognisable form: a fixed prefix, then a fixed alphabet. The forms are published by the issuers;
 * the list is compared with gitleaks' default configuration (github.com/gitleaks/gitleaks, config/gitleaks.toml). All
 * quantifiers are bounded, so a search is linear.
 */
export interface TokenShape {
  /** The issuer, as named in tests. */
  readonly id: string;
  readonly pattern: string;
}

export const TOKEN_SHAPES: readonly TokenShape[] = [
  { id: 'kubeadm bootstrap token', pattern: '\\b[a-z0-9]{6}\\.[a-z0-9]{16}\\b' },
  { id: 'k3s token', pattern: '\\bK10[0-9a-f]{64}::[\\w.:+/=-]{1,256}' },
  { id: 'JSON web token', pattern: '\\bey[JK][\\w-]{10,2048}\\.[\\w-]{10,8192}(?:\\.[\\w-]{0,2048})?' },
  { id: 'age identity', pattern: '\\bAGE-SECRET-KEY-1[0-9A-Z]{50,64}' },
  { id: 'crypt(5) password hash', pattern: '\\$(?:1|2[abxy]|5|6|7|y|gy|sha1|md5)\\$[\\w./=,$+-]{8,256}' },
  { id: 'AWS access key id', pattern: '\\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\\b' },
  { id: 'Google API key', pattern: '\\bAIza[\\w-]{35}' },
  { id: 'Google OAuth access token', pattern: '\\bya29\\.[\\w-]{20,1024}' },
  { id: 'Google OAuth client secret', pattern: '\\bGOCSPX-[\\w-]{20,64}' },
  { id: 'Microsoft Entra client secret', pattern: '[\\w~.]{3}[0-9]Q~[\\w~.-]{30,40}' },
  { id: 'Alibaba access key id', pattern: '\\bLTAI[A-Za-z0-9]{12,20}\\b' },
  { id: 'DigitalOcean token', pattern: '\\bdo[opr]_v1_[a-f0-9]{64}' },
  { id: 'GitHub token', pattern: '\\bgh[oprsu]_[A-Za-z0-9]{30,255}' },
  { id: 'GitHub fine-grained token', pattern: '\\bgithub_pat_\\w{60,255}' },
  { id: 'GitLab token', pattern: '\\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[\\w.-]{20,128}' },
  { id: 'Slack token', pattern: '\\bxox[abeoprs]-[\\w-]{10,255}' },
  { id: 'Slack app token', pattern: '\\bxapp-[\\w-]{10,255}' },
  { id: 'Slack webhook', pattern: '\\bhooks\\.slack\\.com/(?:services|workflows|triggers)/[\\w+/-]{20,128}' },
  { id: 'Teams webhook', pattern: '\\bwebhook\\.office\\.com/webhookb2/[\\w@/-]{20,512}' },
  { id: 'Discord webhook', pattern: '\\bdiscord(?:app)?\\.com/api/webhooks/[\\w/-]{20,256}' },
  { id: 'npm token', pattern: '\\bnpm_[A-Za-z0-9]{36}' },
  { id: 'PyPI token', pattern: '\\bpypi-AgE[\\w-]{50,1024}' },
  { id: 'Docker token', pattern: '\\bdckr_(?:pat|oat)_[\\w-]{20,64}' },
  { id: 'Artifactory key', pattern: '\\bAKCp[A-Za-z0-9]{60,100}' },
  { id: 'Vault or OpenBao token', pattern: '\\b(?:hv[bsr]\\.[\\w-]{20,512}|s\\.[A-Za-z0-9]{24}\\b)' },
  { id: 'Terraform Cloud token', pattern: '\\b[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{60,70}' },
  { id: 'Pulumi token', pattern: '\\bpul-[a-f0-9]{40}' },
  { id: 'Doppler token', pattern: '\\bdp\\.(?:pt|st|ct|sa|scim|audit)\\.[A-Za-z0-9.]{30,128}' },
  { id: '1Password service account', pattern: '\\bops_ey[\\w+/=-]{100,4096}' },
  { id: 'Tailscale key', pattern: '\\btskey-[a-z]{3,12}-[A-Za-z0-9-]{16,128}' },
  { id: 'Grafana token', pattern: '\\bgl(?:c|sa)_[\\w+/=-]{30,400}' },
  { id: 'Databricks token', pattern: '\\bdapi[a-f0-9]{32}' },
  { id: 'New Relic key', pattern: '\\bNRAK-[A-Z0-9]{27}' },
  { id: 'Sentry token', pattern: '\\bsntry[su]_[\\w+/=-]{40,512}' },
  { id: 'Stripe key', pattern: '\\b[rs]k_(?:test|live|prod)_[A-Za-z0-9]{10,128}' },
  { id: 'SendGrid key', pattern: '\\bSG\\.[\\w-]{16,32}\\.[\\w-]{32,64}' },
  { id: 'Twilio key', pattern: '\\bSK[0-9a-f]{32}\\b' },
  { id: 'Telegram bot token', pattern: '\\b[0-9]{8,16}:A[\\w-]{34}\\b' },
  { id: 'Hugging Face token', pattern: '\\bhf_[A-Za-z0-9]{30,64}' },
  { id: 'OpenAI or Anthropic key', pattern: '\\bsk-[\\w-]{20,256}' },
  {
    id: 'Linear, Shopify or Square token',
    pattern: '\\b(?:lin_api_|shp(?:at|ca|pa|ss)_|sq0(?:atp|csp)-)[\\w-]{20,64}',
  },
];
