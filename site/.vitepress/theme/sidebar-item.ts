import { type DefaultTheme, useData, withBase } from 'vitepress';
import { defineComponent, h, type PropType, type VNode } from 'vue';

type Item = DefaultTheme.SidebarItem;

/**
 * Replaces the theme's own item, which puts a button into a button: keyboards and screen readers meet each group twice.
 * A group of pages is a native disclosure, open where it holds the page that is shown.
 */
export default defineComponent({
  props: { item: { type: Object as PropType<Item>, required: true }, depth: { type: Number, required: true } },
  setup(props) {
    const { page } = useData();
    const isShown = ({ link }: Item): boolean => link === `/${page.value.relativePath.replace(/md$/, 'html')}`;
    const list = (items: readonly Item[]): VNode =>
      h(
        'ul',
        { class: 'sidebar-list' },
        items.map((one) => h('li', [entry(one)])),
      );
    const entry = (item: Item): VNode => {
      if (item.items === undefined) {
        const current = isShown(item) ? 'page' : undefined;
        return h('a', { href: withBase(item.link ?? '/'), 'aria-current': current }, item.text);
      }
      return h('details', { open: item.items.some(isShown) }, [h('summary', item.text), list(item.items)]);
    };
    return () => h('section', { class: 'sidebar-section' }, [h('p', props.item.text), list(props.item.items ?? [])]);
  },
});
