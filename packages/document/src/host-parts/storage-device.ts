import { define, field, object } from '../fields/field.ts';
import { absolutePath, duration } from '../fields/types.ts';
import * as z from '../schema/zod.ts';

const timeout = field(duration, 'How long to wait for the device to appear.', { default: '60s', example: '5m' });
const partition = field(z.int().min(1).max(128), 'The number of a partition of the disk.', {
  absent: 'the whole disk',
  example: 1,
});

const deviceShapes = [
  object({
    path: field(absolutePath, 'The path of the device.', { example: '/dev/nvme1n1' }),
    partition,
    timeout,
  }),
  object({
    id: field(
      z.string().regex(/^[^/\s]+$/, 'a name below /dev/disk/by-id'),
      'The name of the device below /dev/disk/by-id.',
      { example: 'nvme-Amazon_Elastic_Block_Store_vol0123456789abcdef0' },
    ),
    partition,
    timeout,
  }),
  object({
    serial: field(z.string().min(1), 'The serial number of the disk.', { example: 'vol0123456789abcdef0' }),
    partition,
    timeout,
  }),
  object({
    label: field(z.string().min(1).max(255), 'The label of the file system on the device.', { example: 'data' }),
    timeout,
  }),
  object({
    partitionLabel: field(z.string().min(1).max(36), 'The label of the partition (GPT).', { example: 'etcd' }),
    timeout,
  }),
  object({
    instanceStore: field(
      z.int().min(0).max(63),
      'The number of a local disk of the cloud machine, from 0: instance store of AWS, local disks of Azure, local SSD of Google Cloud.',
      { example: 0 },
    ),
    partition,
    timeout,
  }),
  object({
    azureResource: field(z.literal(true), 'The resource disk of an Azure machine.', { example: true }),
    partition,
    timeout,
  }),
] as const;

/** A block device. A dotted name is nothing special here: `partition` says which partition is meant. */
export const device = define(
  'Device',
  z.union(deviceShapes, {
    error:
      'expected a device: one of {path}, {id}, {serial}, {label}, {partitionLabel}, {instanceStore}, {azureResource: true}',
  }),
  'A block device, named in one of several ways.',
  { path: '/dev/nvme1n1' },
);

export type DeviceSection = z.infer<typeof device>;
