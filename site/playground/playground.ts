import { NEWEST_KNOWN_MINOR, OLDEST_MINOR } from '@machineadm/document/kubernetes-releases/minor.ts';
import { example } from '@machineadm/document/library.ts';
import { CARRIERS, profileNames } from '@machineadm/user-data/index.ts';
import { computed, defineComponent, h, onBeforeUnmount, onMounted, reactive, ref, type VNode, watch } from 'vue';
import { version } from '../../package.json';
import controlPlane from '../../test/fixtures/capi/01-controlplane-kube-vip.yaml?raw';
import worker from '../../test/fixtures/capi/02-worker-registry-mirrors.yaml?raw';
import bootstrapData from '../../test/fixtures/capi/golden/02-worker-registry-mirrors.join-worker.user-data?raw';
import { type Editor, openEditor } from './editor.ts';
import {
  type Evaluation,
  evaluate,
  type Finding,
  type Format,
  kubeadmOutput,
  type Output,
  userDataOutput,
} from './engine.ts';

/** After the last key, before the text is evaluated. */
const PAUSE_MILLISECONDS = 150;

const NO_OUTPUT = '# There is no output until the errors of the input are corrected.\n';

const ROLES = ['InitControlPlane', 'JoinControlPlane', 'Worker'] as const;

const EXAMPLES: Readonly<Record<string, () => string>> = {
  KubeadmControlPlane: () => controlPlane,
  'KubeadmConfigTemplate of a worker': () => worker,
  'Bootstrap data (cloud-config)': () => bootstrapData,
  'Document: first control plane': () => example('InitControlPlane'),
  'Document: worker': () => example('Worker'),
  'Document with mistakes': () =>
    'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata:\n  name: edge-7\nhost:\n  hostnam: edge-7\n  sysctl:\n    net.ipv4.ip_forward: [1]\n  swap: Off\n',
};

const VIEWS = { document: 'Document', kubeadm: 'kubeadm configuration', 'user-data': 'User data' } as const;
type View = keyof typeof VIEWS;

function isFormat(name: string): name is Format {
  return Object.hasOwn(CARRIERS, name);
}

/** The options beside an input, as their fields hold them: empty means not given. */
interface Choices {
  role: string;
  kubernetesVersion: string;
  endpoint: string;
  caCertHash: string;
  inlineSecrets: boolean;
  structure: boolean;
}

function optionsOf({ role, kubernetesVersion, endpoint, caCertHash, inlineSecrets, structure }: Choices) {
  const known = ROLES.find((name) => name === role);
  return {
    ...(known === undefined ? {} : { role: known }),
    ...(kubernetesVersion === '' ? {} : { kubernetesVersion }),
    ...(endpoint === '' ? {} : { endpoint }),
    ...(caCertHash === '' ? {} : { caCertHashes: [caCertHash] }),
    inlineSecrets,
    structure,
  };
}

export default defineComponent({
  setup() {
    const inputElement = ref<HTMLElement>();
    const outputElement = ref<HTMLElement>();
    const choices = reactive<Choices>({
      role: '',
      kubernetesVersion: '',
      endpoint: '',
      caCertHash: '',
      inlineSecrets: false,
      structure: true,
    });
    const shown = reactive({
      view: 'document' as View,
      document: 0,
      kubeadm: '',
      format: 'cloud-init' as Format,
      profile: '',
    });
    const evaluation = ref<Evaluation>();
    const output = ref<Output>();
    const isCopied = ref(false);
    const selected = computed(() => evaluation.value?.documents[shown.document] ?? evaluation.value?.documents[0]);
    let text = '';
    let input: Editor | undefined;
    let result: Editor | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let started = 0;

    /** Only the newest text and options count: an earlier evaluation that ends later is dropped. */
    async function run(): Promise<void> {
      clearTimeout(timer);
      started += 1;
      const own = started;
      const begin = performance.now();
      const found = await evaluate(text, version, optionsOf(choices));
      if (own !== started) return;
      evaluation.value = found;
      input?.setFindings(found.findings);
      await show();
      performance.measure('playground', { start: begin });
    }

    async function show(): Promise<void> {
      const own = started;
      const document = selected.value;
      const shownOutput = document === undefined ? undefined : await outputOf(document.yaml);
      if (own !== started) return;
      output.value = shownOutput;
      isCopied.value = false;
      result?.setText(shownOutput?.text ?? NO_OUTPUT);
      result?.setFindings(shown.view === 'document' ? (document?.findings ?? []) : []);
    }

    async function outputOf(yaml: string): Promise<Output> {
      const { view, kubeadm, format, profile } = shown;
      if (view === 'kubeadm') return await kubeadmOutput(yaml, version, kubeadm === '' ? undefined : kubeadm);
      if (view === 'user-data')
        return await userDataOutput(yaml, version, format, profile === '' ? undefined : profile);
      return { text: yaml, remarks: [], problems: [] };
    }

    function open(content: string): void {
      text = content;
      shown.document = 0;
      input?.setText(content);
      void run();
    }

    onMounted(() => {
      if (inputElement.value === undefined || outputElement.value === undefined) return;
      input = openEditor({
        parent: inputElement.value,
        label: 'Input',
        onEdit: (edited) => {
          text = edited;
          clearTimeout(timer);
          timer = setTimeout(() => void run(), PAUSE_MILLISECONDS);
        },
      });
      result = openEditor({ parent: outputElement.value, label: 'Output, read only' });
      open(controlPlane);
    });
    onBeforeUnmount(() => {
      clearTimeout(timer);
      started += 1;
      input?.destroy();
      result?.destroy();
    });
    watch(choices, () => void run());
    watch(shown, () => void show());

    const select = (
      label: string,
      value: string,
      options: Readonly<Record<string, string>>,
      set: (value: string) => void,
    ) =>
      h('label', [
        label,
        h(
          'select',
          { value, onChange: (event: Event) => set((event.target as HTMLSelectElement).value) },
          Object.entries(options).map(([name, title]) => h('option', { value: name }, title)),
        ),
      ]);
    const field = (label: string, key: 'kubernetesVersion' | 'endpoint' | 'caCertHash', placeholder: string) =>
      h('label', [
        label,
        h('input', {
          value: choices[key],
          placeholder,
          onChange: (event: Event) => {
            choices[key] = (event.target as HTMLInputElement).value.trim();
          },
        }),
      ]);
    const check = (label: string, key: 'inlineSecrets' | 'structure') =>
      h('label', { class: 'check' }, [
        h('input', {
          type: 'checkbox',
          checked: choices[key],
          onChange: (event: Event) => {
            choices[key] = (event.target as HTMLInputElement).checked;
          },
        }),
        label,
      ]);
    const same = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]));

    async function openFile(event: Event): Promise<void> {
      const file = (event.target as HTMLInputElement).files?.[0];
      if (file !== undefined) open(await file.text());
    }

    async function copy(): Promise<void> {
      await navigator.clipboard.writeText(output.value?.text ?? '');
      isCopied.value = true;
    }

    const sources = (): VNode =>
      h('div', { class: 'controls' }, [
        select('Example', '', { '': 'choose', ...same(Object.keys(EXAMPLES)) }, (name) => {
          const content = EXAMPLES[name]?.();
          if (content !== undefined) open(content);
        }),
        h('label', ['File', h('input', { type: 'file', onChange: openFile })]),
      ]);

    const conversionOptions = (): VNode =>
      h('details', { class: 'options' }, [
        h('summary', 'Options of the conversion'),
        h('div', { class: 'controls' }, [
          select('Role', choices.role, { '': 'from the input', ...same(ROLES) }, (role) => {
            choices.role = role;
          }),
          field('Kubernetes version', 'kubernetesVersion', 'from the input, or v1.35.2'),
          field('API server', 'endpoint', 'host:port'),
          field('Hash of the CA', 'caCertHash', 'sha256:…'),
          check('Structured fields for well-known files and commands', 'structure'),
          check('Values of Secrets in the document', 'inlineSecrets'),
        ]),
      ]);

    const summary = (): string => {
      const { kind, documents, findings } = evaluation.value ?? { kind: 'document', documents: [], findings: [] };
      const count = (severity: Finding['severity']) => findings.filter((one) => one.severity === severity).length;
      const errors = count('error');
      if (kind === 'document')
        return errors === 0 ? 'A valid document.' : `A document with ${many(errors, 'problem')}.`;
      const found = [
        many(count('decision'), 'decision'),
        many(count('warning'), 'warning'),
        many(count('note'), 'note'),
      ];
      return errors > 0
        ? `Not converted: ${many(errors, 'error')}.`
        : `Converted to ${many(documents.length, 'document')}, with ${found.join(', ')}.`;
    };

    const findings = (): VNode =>
      h(
        'ul',
        { class: 'finding-list' },
        evaluation.value?.findings.map((finding) =>
          h('li', { class: `finding-${finding.severity}` }, [
            h('button', { type: 'button', onClick: () => input?.goTo(finding.line) }, `Line ${finding.line}`),
            h('span', [
              h('strong', `${finding.severity} ${finding.code}`),
              ` ${finding.path === '' ? '' : `${finding.path}: `}${finding.message}`,
              finding.hint === undefined ? '' : ` (${finding.hint})`,
            ]),
          ]),
        ),
      );

    const outputControls = (): VNode =>
      h('div', { class: 'controls' }, [
        select('Show', shown.view, VIEWS, (view) => {
          shown.view = Object.hasOwn(VIEWS, view) ? (view as View) : 'document';
        }),
        (evaluation.value?.documents.length ?? 0) > 1
          ? select(
              'Document',
              String(shown.document),
              Object.fromEntries(evaluation.value?.documents.map(({ title }, index) => [String(index), title]) ?? []),
              (index) => {
                shown.document = Number(index);
              },
            )
          : undefined,
        shown.view === 'kubeadm'
          ? select('kubeadm', shown.kubeadm, { '': 'of the document', ...same(RELEASES) }, (release) => {
              shown.kubeadm = release;
            })
          : undefined,
        shown.view === 'user-data'
          ? select('Format', shown.format, same(Object.keys(CARRIERS)), (format) => {
              if (isFormat(format)) shown.format = format;
            })
          : undefined,
        shown.view === 'user-data'
          ? select('Provider', shown.profile, { '': 'any', ...same(profileNames()) }, (profile) => {
              shown.profile = profile;
            })
          : undefined,
        h('button', { type: 'button', onClick: copy }, isCopied.value ? 'Copied' : 'Copy'),
      ]);

    return () =>
      h('div', { class: 'playground' }, [
        sources(),
        conversionOptions(),
        h('p', { class: 'summary', role: 'status' }, summary()),
        h('div', { class: 'panes' }, [
          h('section', { 'aria-label': 'Input' }, [h('h2', 'Input'), h('div', { ref: inputElement, class: 'editor' })]),
          h('section', { 'aria-label': 'Output' }, [
            h('h2', 'Output'),
            outputControls(),
            h('ul', { class: 'remarks' }, [
              ...(output.value?.problems ?? []).map((line) => h('li', { class: 'finding-error' }, line)),
              ...(output.value?.remarks ?? []).map((line) => h('li', line)),
            ]),
            h('div', { ref: outputElement, class: 'editor' }),
          ]),
        ]),
        h('h2', 'Findings'),
        findings(),
      ]);
  },
});

const RELEASES = Array.from({ length: NEWEST_KNOWN_MINOR - OLDEST_MINOR + 1 }, (_, index) => {
  return `v1.${NEWEST_KNOWN_MINOR - index}.0`;
});

function many(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
