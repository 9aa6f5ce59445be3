import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { defineAsyncComponent } from 'vue';
import './style.css';

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => {
    // The library and the editor are loaded with the playground's page only.
    app.component(
      'Playground',
      defineAsyncComponent(() => import('../../playground/playground.ts')),
    );
  },
} satisfies Theme;
