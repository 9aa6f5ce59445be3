import { choices, type Finding, nearestName } from '../../diagnostics/index.ts';
import { API_VERSIONS_MINORS, apiVersions } from '../../kubernetes-releases/api-versions.ts';
import {
  type ArgumentChoice,
  type ArgumentKind,
  argumentChoices,
  argumentKinds,
} from '../../kubernetes-releases/argument-values.ts';
import type { Component } from '../../kubernetes-releases/flags.ts';
import { includes, minorOf } from '../../kubernetes-releases/minor.ts';
import { commandLines } from './command-lines.ts';
import { isDuration, isInteger, isNumber, parseBoolean } from './go-values.ts';
import type { KubernetesSection } from './index.ts';
import { isIPAddress } from './subnets.ts';

/** Values of arguments that a component cannot parse or refuses: it would end with them. */
export function checkArgumentValues(kubernetes: KubernetesSection): Finding[] {
  const minor = minorOf(kubernetes.version);
  return commandLines(kubernetes).flatMap(({ component, args, path }) => {
    const judge = args.length === 0 ? undefined : judgeOf(component, minor);
    return args.flatMap(({ name, value }, index): Finding[] => {
      // Variables of the document, and those of a container's environment, are known on the machine only.
      if (judge === undefined || /\$[{(]/.test(value)) return [];
      return judge(name, value).map((finding) => ({ ...finding, path: [...path, index, 'value'] }));
    });
  });
}

type Mistake = Pick<Finding, 'message' | 'hint'>;

function judgeOf(component: Component, minor: number): (flag: string, value: string) => Mistake[] {
  const kinds = argumentKinds(component);
  const words = argumentChoices(component);
  return (flag, value) => {
    if (component === 'kube-apiserver' && flag === 'runtime-config') return runtimeConfig(value, minor);
    const [kind, choice] = [kinds.get(flag), words.get(flag)];
    if (kind !== undefined && !PARSES[kind](value))
      return [{ message: `must be ${KINDS[kind]}`, ...unitHint(kind, value) }];
    return choice === undefined ? [] : notAmong(choice, value);
  };
}

const PARSES: Readonly<Record<ArgumentKind, (text: string) => boolean>> = {
  duration: isDuration,
  flag: (text) => parseBoolean(text) !== undefined,
  integer: isInteger,
  number: isNumber,
  address: (text) => text.trim() === '' || isIPAddress(text.trim()),
};

const KINDS: Readonly<Record<ArgumentKind, string>> = {
  duration: 'a duration, such as "10s" or "1h30m"',
  flag: '"true" or "false"',
  integer: 'a whole number',
  number: 'a number',
  address: 'an IP address',
};

function unitHint(kind: ArgumentKind, value: string): { readonly hint?: string } {
  if (kind === 'duration' && /^\d+$/.test(value)) return { hint: `"${value}s" for seconds` };
  const days = /^(\d{1,6})d$/.exec(value)?.[1];
  return kind === 'duration' && days !== undefined
    ? { hint: `"${Number(days) * 24}h": there is no unit for days` }
    : {};
}

function notAmong({ words, isList }: ArgumentChoice, value: string): Mistake[] {
  const given = isList ? value.split(',').map((word) => word.trim()) : [value];
  const wrong = given.find((word) => word !== '' && !words.includes(word));
  if (wrong === undefined) return [];
  const near = nearestName(wrong, words);
  const hint = near === undefined ? `one of ${choices(words, wrong)}` : `did you mean "${near}"?`;
  return [{ message: isList ? `"${wrong}" is not known` : 'is not a value that is known', hint }];
}

/** k/k staging/src/k8s.io/apiserver/pkg/server/resourceconfig/helpers.go: these take "true" and "false" only. */
const ALL_OF = /^api\/(?:all|ga|beta|alpha)$/;
/** Names that some releases take and others do not. */
const LEFT_ALONE = /^(?:v1|api\/(?:v1|legacy))$/;

function runtimeConfig(value: string, minor: number): Mistake[] {
  const known = includes(API_VERSIONS_MINORS, minor) ? apiVersions(minor) : undefined;
  return value
    .split(',')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '')
    .flatMap((pair) => {
      const [key = '', ...rest] = pair.split('=').map((text) => text.trim());
      const setting = rest.join('=');
      const isSet = parseBoolean(setting) !== undefined || (setting === '' && !ALL_OF.test(key));
      if (!isSet) return [{ message: `${key} must be true or false`, hint: `${key}=true` }];
      return ALL_OF.test(key) || LEFT_ALONE.test(key) ? [] : apiMistake(key, known, minor);
    });
}

function apiMistake(key: string, known: ReadonlyMap<string, readonly string[]> | undefined, minor: number): Mistake[] {
  const [group = '', version = '', ...resource] = key.split('/');
  if (version === '' || resource.length > 1) {
    return [{ message: `${key} is not the name of an API`, hint: 'such as batch/v1 or api/alpha' }];
  }
  const versions = known?.get(group);
  if (known === undefined || versions?.includes(version) === true) return [];
  const message = `kube-apiserver 1.${minor} has no API ${group}/${version}`;
  if (versions !== undefined) {
    return [{ message, hint: `known: ${versions.map((name) => `${group}/${name}`).join(', ')}` }];
  }
  const groups = [...known.keys()];
  const near = groups.find((name) => name.startsWith(`${group}.`)) ?? nearestName(group, groups);
  const hint = near === undefined ? `known: ${choices(groups, group)}` : `did you mean "${near}"?`;
  return [{ message, hint }];
}
