import type { HardeningModel } from '@machineadm/document/model/index.ts';
import { HARDENING_RECORD } from '@machineadm/document/ownership/paths.ts';
import { CONTROL_IDS, HARDENING_PROFILES } from '@machineadm/document/sections/hardening-controls.ts';
import { member, strings, text } from '@machineadm/document/values/untyped.ts';
import { checksummedJson, withChecksum } from '../../host/files/checksum.ts';
import type { QueryHost } from '../../host/seam/host.ts';

export function recordText(hardening: HardeningModel): string {
  const { profiles, include, exceptions } = hardening;
  return `${withChecksum(JSON.stringify({ version: 1, profiles, include, exceptions }, undefined, 2))}\n`;
}

/** The section that this machine was provisioned with; undefined = none, or it cannot be parsed. */
export async function readRecord(host: QueryHost): Promise<HardeningModel | undefined> {
  const content = checksummedJson(await host.readText(HARDENING_RECORD));
  if (content === undefined) return undefined;
  const known: readonly string[] = CONTROL_IDS;
  const exceptions = member(content, 'exceptions');
  return {
    profiles: HARDENING_PROFILES.filter((profile) => strings(member(content, 'profiles')).includes(profile)),
    include: strings(member(content, 'include')).filter((id) => known.includes(id)),
    exceptions: (Array.isArray(exceptions) ? exceptions : []).flatMap((entry: unknown) => {
      const [id, reason] = [text(member(entry, 'id')), text(member(entry, 'reason'))];
      return id === undefined || reason === undefined ? [] : [{ id, reason }];
    }),
  };
}
