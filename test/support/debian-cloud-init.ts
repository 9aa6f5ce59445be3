import { debianPackages, type Unpacked } from './debian-packages.ts';
import { needs } from './needs.ts';

/** cloud-init and those of its dependencies that a machine with python3 may lack. */
const PACKAGES = [
  'cloud-init',
  'libyaml-0-2',
  ...'attr certifi chardet configobj idna jinja2 json-pointer jsonpatch jsonschema markupsafe netifaces oauthlib pyrsistent requests serial six urllib3 yaml'
    .split(' ')
    .map((name) => `python3-${name}`),
];

/** The unpacked cloud-init of this Debian. Returns its root directory, or why it cannot be had. */
export function debianCloudInit(): Unpacked {
  const missing = needs('python3');
  if (missing !== false) return { unavailable: missing };
  return debianPackages('test-cloud-init', PACKAGES, 'usr/bin/cloud-init');
}
