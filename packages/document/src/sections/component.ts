import { choice, define, field, object } from '../fields/field.ts';
import { absolutePath, argument, environmentVariable } from '../fields/types.ts';
import * as z from '../schema/zod.ts';

export interface Argument {
  readonly name: string;
  readonly value: string;
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

/** Of a static pod: a value, or something that the pod knows of itself (the downward API). */
export type PodEnvironmentVariable = EnvironmentVariable | PodEnvironmentReference;

export interface PodEnvironmentReference {
  readonly name: string;
  readonly valueFrom:
    | { readonly fieldRef: { readonly fieldPath: string; readonly apiVersion?: string | undefined } }
    | {
        readonly resourceFieldRef: {
          readonly resource: string;
          readonly containerName?: string | undefined;
          readonly divisor?: string | undefined;
        };
      };
}

export interface HostPathVolume {
  readonly name: string;
  readonly hostPath: string;
  readonly mountPath: string;
  readonly readOnly: boolean;
  readonly pathType: string | undefined;
}

export interface ComponentModel {
  readonly args: readonly Argument[];
  readonly env: readonly PodEnvironmentVariable[];
  readonly volumes: readonly HostPathVolume[];
}

/** What a static pod can refer to: itself. It has no access to objects of the API. */
export const podEnvironmentVariable = define(
  'PodEnvironmentVariable',
  z.union(
    [
      environmentVariable,
      object({
        name: field(environmentVariable.shape.name, 'The name of the environment variable.', {
          example: 'HTTPS_PROXY',
        }),
        valueFrom: field(
          z.union([
            object({
              fieldRef: field(
                object({
                  fieldPath: field(z.string().min(1), 'The path of the field.', { example: 'status.hostIP' }),
                  apiVersion: field(z.string().min(1), 'The API version that the path belongs to.', {
                    absent: 'the default of Kubernetes, v1',
                    example: 'v1',
                  }),
                }),
                'A field of the pod.',
                { example: { fieldPath: 'status.hostIP' } },
              ),
            }),
            object({
              resourceFieldRef: field(
                object({
                  resource: field(z.string().min(1), 'The resource.', { example: 'limits.memory' }),
                  containerName: field(z.string().min(1), 'The container.', {
                    absent: 'the container that has the variable',
                    example: 'kube-apiserver',
                  }),
                  divisor: field(z.string().min(1), 'The unit of the value.', {
                    absent: 'the default of Kubernetes, 1',
                    example: '1Mi',
                  }),
                }),
                'A resource request or limit of a container.',
                { example: { resource: 'limits.memory' } },
              ),
            }),
          ]),
          'A value of the pod itself. A static pod has no access to objects of the API.',
          { example: { fieldRef: { fieldPath: 'status.hostIP' } } },
        ),
      }),
    ],
    { error: 'expected {name, value}, or {name, valueFrom} with fieldRef or resourceFieldRef' },
  ),
  'An environment variable.',
  { name: 'LOG_LEVEL', value: 'debug' },
);

export const componentFields = {
  args: field(z.array(argument), 'Command line arguments. A name may repeat where the component allows it.', {
    default: [],
    example: [{ name: 'v', value: '2' }],
  }),
  env: field(z.array(podEnvironmentVariable), 'Environment variables of the container.', {
    default: [],
    example: [{ name: 'GOMEMLIMIT', value: '2GiB' }],
  }),
  volumes: field(
    z.array(
      object({
        name: field(z.string().min(1), 'The name of the volume.', { example: 'extra' }),
        hostPath: field(absolutePath, 'The path on the machine.', { example: '/etc/extra' }),
        mountPath: field(absolutePath, 'The path in the container.', { example: '/etc/extra' }),
        readOnly: field(z.boolean(), 'Whether the container may only read it.', { default: false, example: true }),
        pathType: field(
          choice({
            DirectoryOrCreate: 'A directory, created if nothing is there.',
            Directory: 'A directory.',
            FileOrCreate: 'A file, created if nothing is there.',
            File: 'A file.',
            Socket: 'A Unix socket.',
            CharDevice: 'A character device.',
            BlockDevice: 'A block device.',
          }),
          'What must be at the path on the machine, and whether it is created.',
          { absent: 'nothing is checked', example: 'DirectoryOrCreate' },
        ),
      }),
    ),
    'Paths of the host that are mounted into the container.',
    { default: [], example: [{ name: 'extra', hostPath: '/etc/extra', mountPath: '/etc/extra' }] },
  ),
};
export const component = define('Component', object(componentFields), 'A component of the control plane.', {
  args: [{ name: 'v', value: '2' }],
});

export type ComponentSection = z.infer<typeof component>;

export function toComponent(section: ComponentSection | undefined): ComponentModel {
  return {
    args: section?.args ?? [],
    env: section?.env ?? [],
    volumes: (section?.volumes ?? []).map((volume) => ({
      name: volume.name,
      hostPath: volume.hostPath,
      mountPath: volume.mountPath,
      readOnly: volume.readOnly ?? false,
      pathType: volume.pathType,
    })),
  };
}
