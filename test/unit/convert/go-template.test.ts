import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { renderGoTemplate } from '@machineadm/convert/go-template/render.ts';
import { sprigFunctions } from '@machineadm/convert/go-template/sprig.ts';
import { GoTemplateError, unquoted } from '@machineadm/convert/go-template/tokens.ts';
import { goValue } from '@machineadm/convert/go-template/values.ts';
import * as re2js from 're2js';

test('a string of Go has these escapes, and no others', () => {
  assert.equal(unquoted('"\\a\\b\\f\\n\\r\\t\\v\\\\\\\'\\""'), '\x07\b\f\n\r\t\v\\\'"');
  assert.equal(unquoted('"\\u00e9\\U0001F600"'), '\u00e9\u{1f600}');
  for (const wrong of ['"\\d"', '"\\U00110000"']) assert.throws(() => unquoted(wrong), GoTemplateError);
});

/** As JSON has them: numbers are float64. */
const DATA = {
  s: 'Hello World',
  v: 'v1.31.2',
  e: '',
  n: 3,
  f: 2.5,
  big: 1000000,
  z: 0,
  t: true,
  no: false,
  nul: null,
  l: ['b', 'a', 1, null, true],
  el: [],
  m: { b: 1, a: [2, { c: 'x' }] },
  em: {},
  multi: 'a\nb\n',
  uni: 'gr\u00fc\u00dfe',
  html: '<a&b>',
  q: 'say "hi"\t\\ \u00e9 \u200b',
  list: ['x', 'y', 'x'],
  builtin: { cluster: { name: 'c1' }, controlPlane: { version: 'v1.31.2+k3s1', replicas: 3 } },
};

/** Printed by Go 1.19 with Sprig 3.2.3 for the same data. */
const PRINTED: readonly (readonly [template: string, printed: string])[] = [
  ['{{ .builtin.controlPlane.version | replace "+" "_" }}', 'v1.31.2_k3s1'],
  ['{{ if .s }}true{{end}}', 'true'],
  ['{{ if .e }}true{{else if .n}}n{{else}}x{{end}}', 'n'],
  ['{{- if .s -}} a {{- end -}} b {{/* c */}} c {{- /* d */ -}} d', 'ab  cd'],
  ['{{ eq .n 3.0 }} {{ eq .s "x" "Hello World" }} {{ lt .n 4.0 }}', 'true true true'],
  [
    '{{ range .list }}{{ . }},{{ end }}{{ range .el }}x{{ else }}none{{ end }}{{ range $k, $v := .m }}{{ $k }}:{{ $v }} {{ end }}',
    'x,y,x,nonea:[2 map[c:x]] b:1 ',
  ],
  [
    '{{ range .list }}{{ if eq . "y" }}{{ continue }}{{ end }}{{ . }}{{ end }}|{{ range .list }}{{ if eq . "y" }}{{ break }}{{ end }}{{ . }}{{ end }}',
    'xx|x',
  ],
  ['{{ with .m }}{{ .b }}{{ end }}{{ with .nul }}x{{ else }}y{{ end }}', '1y'],
  ['{{ with $x := .s }}{{ $x }}{{ $.n }}{{ end }}', 'Hello World3'],
  ['{{ $x := 1 }}{{ range .list }}{{ $x = add $x 1 }}{{ end }}{{ $x }}', '4'],
  ['{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ end }}{{ $x }}', '1'],
  [
    '{{ printf "%q" .q }} {{ printf "%s-%v-%d-%t%%" .s .n 4 true }}',
    '"say \\"hi\\"\\t\\\\ \u00e9 \\u200b" Hello World-3-4-true%',
  ],
  [
    '{{ printf "%q" (regexReplaceAll "(name: address\\n +value:).*" "name: address\\n   value: x\\n" (printf "$1 %s" .s)) }}',
    '"name: address\\n   value: Hello World\\n"',
  ],
  ['{{ .big }} {{ .f }} {{ .n }} {{ .z }} {{ .t }}', '1e+06 2.5 3 0 true'],
  ['{{ .l }} {{ .m }} {{ .el }} {{ .em }}', '[b a 1 <nil> true] map[a:[2 map[c:x]] b:1] [] map[]'],
  [
    '{{ quote .s .n .nul }} {{ squote .s .n }} {{ cat .s .n .nul "x" }}',
    '"Hello World" "3" \'Hello World\' \'3\' Hello World 3 x',
  ],
  [
    '{{ .s | lower | upper | trunc 5 }} {{ trunc -3 .s }} {{ trimSuffix "ld" .s }} {{ trimPrefix "He" .s }} {{ trimAll "Hd" .s }} {{ trim "  a " }}',
    'HELLO rld Hello Wor llo World ello Worl a',
  ],
  [
    '{{ hasPrefix "He" .s }} {{ hasSuffix "x" .s }} {{ contains "lo" .s }} {{ nospace .s }} {{ repeat 3 "ab" }} {{ replace "l" "" .s }}',
    'true false true HelloWorld ababab Heo Word',
  ],
  ['{{ indent 2 .multi }}|{{ nindent 4 .multi }}', '  a\n  b\n  |\n    a\n    b\n    '],
  ['{{ b64enc .uni }} {{ b64dec (b64enc .uni) }}', 'Z3LDvMOfZQ== gr\u00fc\u00dfe'],
  [
    '{{ toJson .m }} {{ toJson .html }} {{ toRawJson .html }} {{ toJson .l }} {{ toJson .big }} {{ toJson .nul }} {{ .f | toJson }}',
    '{"a":[2,{"c":"x"}],"b":1} "\\u003ca\\u0026b\\u003e" "<a&b>" ["b","a",1,null,true] 1000000 null 2.5',
  ],
  [
    '{{ default "d" .e }} {{ default "d" .s }} {{ default 4 .z }} {{ .missing | default "m" }} {{ default "d" .nul }} {{ default "d" .no }}',
    'd Hello World 4 m d d',
  ],
  [
    '{{ empty .e }} {{ empty .missing }} {{ empty .z }} {{ empty .list }} {{ coalesce .e .nul .s }} {{ ternary "a" "b" .t }} {{ ternary "a" "b" .no }} {{ all .s .n }} {{ any .e .z }}',
    'true true true false Hello World a b true false',
  ],
  ['{{ (split "." "1.2")._1 }} {{ $v := split "." "1.2" }}{{ $v._0 }}', '2 1'],
  [
    '{{ sortAlpha .list }} {{ first .list }} {{ last .list }} {{ rest .list }} {{ initial .list }} {{ append .list "q" }} {{ prepend .list 1 }} {{ concat .list .el (list 1) }} {{ reverse .list }} {{ compact .l }} {{ has "x" .list }} {{ has 1 .l }} {{ has 1.0 .l }} {{ without .list "x" }} {{ uniq .list }} {{ until 3 }}',
    '[x x y] x x [y x] [x y] [x y x q] [1 x y x] [x y x 1] [x y x] [b a 1 true] true false true [y] [x y] [0 1 2]',
  ],
  [
    '{{ dict "a" 1 "b" .list | toJson }} {{ get .m "b" }} {{ get .m "zz" }}| {{ hasKey .m "a" }} {{ pick .m "b" | toJson }} {{ omit .m "b" | toJson }} {{ dict "a" | toJson }}',
    '{"a":1,"b":["x","y","x"]} 1 | true {"b":1} {"a":[2,{"c":"x"}]} {"a":""}',
  ],
  [
    '{{ add 1 .n 2 }} {{ add1 .n }} {{ sub 5 .n }} {{ mul 2 .n }} {{ div 7 .n }} {{ mod 7 .n }} {{ max 1 .n 2 }} {{ min 1 .n 2 }} {{ int .f }} {{ int "42" }} {{ atoi "42" }} {{ atoi "x" }} {{ int true }}',
    '6 4 2 6 2 1 3 1 2 42 42 0 1',
  ],
  [
    '{{ kindOf .n }} {{ kindOf .l }} {{ kindOf .m }} {{ kindOf .nul }} {{ kindIs "string" .s }} {{ kindOf 1 }} {{ kindOf true }}',
    'float64 slice map invalid true int bool',
  ],
  ['{{ print 1 2 "a" 3 4 }} {{ println "a" 1 }} {{ print .nul }}', '1 2a3 4 a 1\n <nil>'],
  [
    '{{ and .s .n }} {{ or .e .n }} {{ and .e (fail "x") }} {{ or .s (fail "x") }} {{ .s | and true }} {{ not (and .s .e) | toString }}',
    '3 3  Hello World Hello World true',
  ],
  [
    '{{ regexMatch "^v1\\\\.3" .v }} {{ regexFind "[0-9]+" .v }} {{ regexFindAll "[0-9]+" .v -1 }} {{ regexFindAll "[0-9]" .v 2 }} {{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }} {{ regexReplaceAll "a(x*)b" "-ab-axxb-" "$1W" }} {{ regexReplaceAllLiteral "a(x*)b" "-ab-axxb-" "${1}" }} {{ regexReplaceAll "x*" "abc" "-" }} {{ regexReplaceAll "b*" "abc" "$$1" }}',
    'true 1 [1 31 2] [1 3] -W-xxW- --- -${1}-${1}- -a-b-c- $1a$1c$1',
  ],
  [
    '{{ semverCompare ">= 1.31" .v }} {{ semverCompare ">=v1.32.0" .v }} {{ semverCompare "<1.32" .v }} {{ semverCompare "~1.31" .v }} {{ semverCompare "^1.30" .v }} {{ semverCompare "^0.3.1" "0.3.5" }} {{ semverCompare "^0.3.1" "0.4.0" }} {{ semverCompare "> 1.30" "1.30.5" }} {{ semverCompare ">1.30" "1.31.0" }} {{ semverCompare "<=1.30" "1.30.9" }} {{ semverCompare "<=1" "1.30.9" }} {{ semverCompare "!=1.30" "1.30.9" }} {{ semverCompare "!=1.30.9" "1.30.8" }} {{ semverCompare "=1.30" "1.30.8" }} {{ semverCompare "1.30.8" "1.30.8" }} {{ semverCompare ">=1.31" "1.31.0-rc.1" }} {{ semverCompare ">=1.31.0-0" "1.31.0-rc.1" }} {{ semverCompare ">1.30, <1.32" .v }} {{ semverCompare ">1.30 <1.31" .v }} {{ semverCompare "<1.30 || >1.30" .v }}',
    'true false true true true true false false true true true false true true true false true true false true',
  ],
  [
    '{{ semverCompare "=1.30" "1.30.8-rc.1" }} {{ semverCompare "!=1.30" "1.31.0-rc.1" }} {{ semverCompare "~1" "1.31.0" }} {{ semverCompare "^1" "1.31.0" }} {{ semverCompare "^0.0.3" "0.0.3" }} {{ semverCompare "^0.0.3" "0.0.4" }} {{ semverCompare "^0.0" "0.0.4" }} {{ semverCompare "^0" "0.5.4" }} {{ semverCompare ">1" "1.31.0" }} {{ semverCompare ">1" "2.0.0" }} {{ semverCompare "1.30.8" "1.30.8-rc.1" }} {{ semverCompare "<1.31.0" "1.31.0-rc.1" }} {{ semverCompare "<=1.31.0-rc.2" "1.31.0-rc.1" }} {{ semverCompare ">=1.30.0" "v1.31.2+k3s1" }}',
    'false false true true true false true true false true false false true true',
  ],
  [
    '{{ semverCompare "=1.31.0" "1.31.0+b1" }} {{ semverCompare "~1.31.1" "1.31.5" }} {{ semverCompare "~1.31.1" "1.32.0" }} {{ semverCompare "=1" "1.2.3" }} {{ semverCompare "!=1" "1.2.3" }} {{ semverCompare "~1.31.1-rc.1" "1.31.1-rc.2" }} {{ semverCompare "^1.31.1-rc.1" "1.31.1-rc.2" }} {{ semverCompare "=1.31.0-rc.1" "1.31.0-rc.1" }} {{ semverCompare ">1.31.0-rc.1" "1.31.0" }}',
    'true true false true false true true true true',
  ],
  [
    '{{ (semver .v).Minor }} {{ if ge (semver .v).Minor 24 }}y{{ end }} {{ (semver "1.2.3-rc.1").Prerelease }}',
    '31 y rc.1',
  ],
  [
    '{{ "a" | printf "%s-%s" "b" }} {{ `raw\\n` }} {{ "t\\tab" }} {{ \'a\' }} {{ 0x10 }} {{ 1.5 }} {{ -3 }}',
    'b-a raw\\n t\tab 97 16 1.5 -3',
  ],
  ['a }} b', 'a }} b'],
  [
    '{{ toStrings .l }} {{ join "-" (list 1 2 "x") }} {{ join "," "abc" }} {{ toString .m }} {{ toString .n }}',
    '[b a 1 true] 1-2-x abc map[a:[2 map[c:x]] b:1] 3',
  ],
  ['{{ if and .s (gt (len .list) 2) }}ok{{ end }}{{ if or (eq .s "a") (ne .v "") }}ok{{ end }}', 'okok'],
  ['{{range $name, $value := .m}}\n- {{ $name }}\n{{- end}}', '\n- a\n- b'],
  [
    '{{ default "x" }} {{ dict 1 2 }} {{ eq .nul nil }} {{ eq .missing "x" }} {{ ne .missing "x" }}',
    'x map[1:2] true false true',
  ],
  [
    '{{ $x := .missing }}{{ if $x }}a{{ else }}b{{ end }} {{ hasKey .m "x" | not }} {{ .t | ternary "y" "n" }}',
    'b true y',
  ],
  ['{{- range $i, $s := .list }}{{ if $i }}, {{ end }}{{ $s }}{{ end -}}', 'x, y, x'],
  ['{{ ( .m ).b }} {{ (index .m "a") }} {{ .m.a }} {{ (.m.b) }} {{ $.m.b }}', '1 [2 map[c:x]] [2 map[c:x]] 1 1'],
];

/** What the same Go refuses. */
const REFUSED: readonly string[] = [
  '{{ not .e }} {{ ne .e "" }} {{ eq .n 3 }}',
  '{{ .nul.y }}',
  '{{ .s.y }}',
  '{{ ternary "a" "b" .s }}',
  '{{ list 1 "a" .n | toJson }} {{ join "," .list }} {{ join "," .l }} {{ splitList "," "a,b" | toJson }} {{ (split "." "1.2").\\_0 }}',
  '{{ index .list 5 }}',
  '{{ index .list .n }}',
  '{{ nil }}',
  '{{ undefinedFunc }}',
  '{{ if .s }}',
  '{{ .s',
  '{{ end }}',
  '{{ .list.x }}',
  '{{ "x" "y" }}',
  '{{ .s | .n }}',
  '{{ $y }}',
  '{{ repeat .n "x" }}',
  '{{ eq .l .l }}',
  '{{ lt .s "a" }} {{ le 1 1 }} {{ gt 2.5 .f }} {{ lt 1 .f }}',
  '{{ lower .n }}',
  '{{ sub .n .missing }} {{ contains "x" .missing }}',
  '{{ slice .s 1 2 }}',
];

/** What Go prints and nobody means, or what is not known here. */
const NOT_HERE: readonly string[] = [
  '{{ .x.y.z }}',
  '{{ index .l 3 }}',
  '{{ printf "%d" .n }}',
  '{{ printf "%s" .n }}',
  '{{ define "x" }}a{{ end }}{{ template "x" }}',
  '{{ html .s }}',
  '{{ now }}',
  '{{ randAlpha 5 }}',
  '{{ semver .v }}',
  '{{ trunc 3 .uni }}',
  '{{ add 1 "010" }}',
  '{{ semverCompare "1.x" .v }}',
];

function render(template: string): string {
  return renderGoTemplate(template, goValue(DATA), sprigFunctions(re2js));
}

describe("templates of Go's text/template with Sprig", () => {
  for (const [template, printed] of PRINTED) {
    test(`${template} is printed as Go prints it`, () => {
      assert.equal(render(template), printed);
    });
  }

  for (const template of [...REFUSED, ...NOT_HERE]) {
    test(`${template} is refused`, () => {
      assert.throws(() => render(template), GoTemplateError);
    });
  }

  test('else with, which Go has since 1.23', () => {
    assert.equal(render('{{ with .e }}a{{ else with .s }}{{ . }}{{ end }}'), 'Hello World');
  });

  test('functions that multiply text end at a limit', () => {
    const loops = (depth: number) => `${'{{ range until 100 }}'.repeat(depth)}x${'{{ end }}'.repeat(depth)}`;
    assert.equal(render(loops(2)).length, 10_000);
    assert.throws(() => render(loops(8)), /too long/);
    assert.throws(() => render('{{ repeat 1000000 (repeat 1000 "x") }}'), /too long/);
    const doubled = (step: string) => `{{ $x := "0123456789" }}${`{{ $x = ${step} }}`.repeat(60)}{{ print $x }}`;
    for (const step of [
      'replace "1" $x $x',
      'cat $x $x',
      'list $x $x',
      'dict "a" $x "b" $x',
      'concat (list $x) (list $x)',
    ])
      assert.throws(() => render(doubled(step)), /too long/, step);
    assert.throws(() => render(`{{ indent 1000 ("\\n" | repeat 10000) }}`), /too long/);
  });
});
