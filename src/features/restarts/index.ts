import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import { DOCUMENT_FOLLOW_UP } from '../../step/follow-up.ts';

/**
 * Restarts and reloads of services that changes before this step owe: each once, whatever owed it, in this run or in one that
 * was killed. A service that does not run reads everything when it is started.
 */
export const restarts: FeatureStep<boolean, undefined, never> = {
  id: 'restarts',
  section: undefined,
  isRequested: STAYS,
  followUps: {
    settles: [],
    settlesFor: (_desired, owed) => [...owed].filter((followUp) => DOCUMENT_FOLLOW_UP.test(followUp)),

    async perform(host, _desired, followUp) {
      const [verb, name = ''] = followUp.split(/:(.*)/s);
      if (!(await host.service(name)).active) return;
      await (verb === 'reload' ? host.services.reloadService(name) : host.services.restart(name));
    },
  },

  desired: ({ host }) =>
    [
      ...host.absent,
      ...host.files,
      ...host.archives,
      ...host.directories,
      ...host.links,
      ...host.certificateAuthorities,
    ].some(({ owes }) => owes !== undefined),

  idle: (isNamed, { owed }) => !isNamed && ![...owed].some((followUp) => DOCUMENT_FOLLOW_UP.test(followUp)),

  inspect: async () => undefined,

  plan: () => [],

  async apply() {},
};
