import type { QueryHost } from '../host/seam/host.ts';
import type { ExtendedAttributes } from '../step/recorded-state.ts';

/** The extended attributes of a path, where it has any; Node has no call for them, and getfattr(1) is not everywhere. */
export async function attributesOf(host: QueryHost, path: string): Promise<{ readonly extended?: ExtendedAttributes }> {
  if ((await host.which('getfattr')) === undefined) return {};
  const args = ['--no-dereference', '--dump', '--match=-', '--encoding=hex', '--absolute-names', path];
  const { status, stdout } = await host.query({ program: 'getfattr', args });
  const lines = status === 0 ? stdout.split('\n') : [];
  const extended = Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^([a-z][^=]*)=(0x[0-9a-f]*)$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
  return Object.keys(extended).length === 0 ? {} : { extended };
}
