import type { QueryHost } from '../../../host/seam/host.ts';

/** The system's own tool for adding sssd to PAM's stacks. */
export interface PamTool {
  readonly program: 'pam-auth-update' | 'authselect';
  readonly args: readonly string[];
  /** True: it also writes nsswitch.conf. */
  readonly ownsNameServiceSwitch: boolean;
}

/** Debian's pam-auth-update(8), with the profiles of libpam-sss and libpam-modules; else authselect(8). undefined: neither. */
export async function pamTool(host: QueryHost, createsHomes: boolean): Promise<PamTool | undefined> {
  if ((await host.which('pam-auth-update')) !== undefined) {
    const args = ['--package', '--enable', 'sss', ...(createsHomes ? ['mkhomedir'] : [])];
    return { program: 'pam-auth-update', args, ownsNameServiceSwitch: false };
  }
  if ((await host.which('authselect')) === undefined) return undefined;
  const args = ['select', 'sssd', ...(createsHomes ? ['with-mkhomedir'] : []), '--force'];
  return { program: 'authselect', args, ownsNameServiceSwitch: true };
}

/** Whether that was done, from the files that the tool writes. */
export async function usesSssd(host: QueryHost, { program }: PamTool, createsHomes: boolean): Promise<boolean> {
  if (program === 'authselect') {
    const [profile, ...features] = ((await host.readText('/etc/authselect/authselect.conf')) ?? '').split('\n');
    return profile === 'sssd' && (!createsHomes || features.includes('with-mkhomedir'));
  }
  const has = async (stack: string, module: string) =>
    new RegExp(`^[^#\\n]*\\b${module}\\.so`, 'm').test((await host.readText(`/etc/pam.d/${stack}`)) ?? '');
  return (await has('common-auth', 'pam_sss')) && (!createsHomes || (await has('common-session', 'pam_mkhomedir')));
}
