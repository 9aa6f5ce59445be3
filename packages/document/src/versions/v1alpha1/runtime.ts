import * as z from 'zod';
import { containerd } from './containerd.ts';

export const containerRuntime = z.strictObject({ containerd: containerd.optional() });

export type ContainerRuntimeSection = z.infer<typeof containerRuntime>;
