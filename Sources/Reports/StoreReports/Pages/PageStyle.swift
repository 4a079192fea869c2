/// The styles of pages. Colors are chosen so that text has a contrast of at least 4.5 to 1 in both schemes.
enum PageStyle {
  static let common = """
    :root { --page: #fff; --text: #1b2430; --soft: #55606e; --rule: #d4dae3; --panel: #f4f6f9; --link: #1f5fae; --bar: #7d9cc4;
      --good: #1a7f37; --bad: #b42318; --doubt: #8a6100; }
    @media (prefers-color-scheme: dark) { :root { --page: #14181f; --text: #e6ebf2; --soft: #a3b0c1; --rule: #343e4c;
      --panel: #1c222c; --link: #7fb2ff; --bar: #5f86b8; --good: #4cc26e; --bad: #f08a80; --doubt: #dcb339; } }
    * { box-sizing: border-box; }
    html { color-scheme: light dark; }
    body { margin: 0; background: var(--page); color: var(--text); font: 15px/1.5 system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
    header, main, footer { padding: 0 max(16px, calc((100vw - 1200px) / 2)); }
    h1 { font-size: 1.5rem; line-height: 1.25; margin: 1rem 0 .25rem; overflow-wrap: anywhere; }
    h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; overflow-wrap: anywhere; }
    a { color: var(--link); }
    :focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
    button, input { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--soft); border-radius: 5px; padding: .2rem .6rem; max-width: 100%; }
    button { cursor: pointer; } button:disabled { color: var(--soft); cursor: default; }
    .soft { color: var(--soft); }
    .canvas { overflow: auto; max-height: 85vh; border: solid var(--rule); border-width: 1px 0; padding-left: 0; padding-right: 0; text-align: left; }
    .canvas svg { display: block; margin: 0 auto; }
    .dim { opacity: .15; }

    """

  static let diagram = """

    .tools { display: flex; gap: .5rem; flex-wrap: wrap; align-items: center; }
    .legend { padding: 0 16px; display: flex; gap: 1rem; }
    .legend .added { color: var(--good); } .legend .removed { color: var(--bad); } .legend .changed { color: var(--doubt); }
    @media print { .tools { display: none; } .canvas { max-height: none; overflow: visible; } .canvas svg { max-width: 100%; height: auto; } }
    """

  static let report = """

    nav { position: sticky; top: 0; z-index: 2; background: var(--page); border-bottom: 1px solid var(--rule); padding: .5rem max(16px, calc((100vw - 1200px) / 2));
      display: flex; gap: .35rem 1rem; flex-wrap: wrap; align-items: center; }
    nav input { flex: 1 1 12rem; min-width: 8rem; }
    dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; }
    dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; font-size: .92rem; }
    th, td { text-align: left; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
    td { max-width: 26rem; overflow-wrap: break-word; white-space: pre-wrap; } td.short { white-space: nowrap; } td.long { min-width: 15rem; }
    section, #objects { scroll-margin-top: 4rem; }
    th { white-space: nowrap; color: var(--soft); font-weight: 600; }
    th button { border: 0; padding: 0; font-weight: 600; color: inherit; background: none; text-align: inherit; }
    .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .null { color: var(--soft); }
    .spark { display: block; } .spark path { fill: var(--bar); }
    .problem { margin: .2rem 0; padding-left: .7rem; border-left: 3px solid var(--bad); overflow-wrap: anywhere; }
    .problem.warning { border-color: var(--doubt); }
    .sound { color: var(--good); }
    .pager { display: flex; gap: .5rem; align-items: center; flex-wrap: wrap; margin: .5rem 0; }
    .hits { max-height: 60vh; overflow: auto; }
    .hits li { overflow-wrap: anywhere; }
    details summary { cursor: pointer; }
    footer { margin: 3rem 0 2rem; color: var(--soft); font-size: .9rem; }
    .noscript { padding: .5rem 0; color: var(--doubt); }
    .query, .tools { display: flex; gap: .5rem; flex-wrap: wrap; margin: .5rem 0; }
    .query input { flex: 1 1 16rem; min-width: 8rem; }
    .query input, .predicate, .command { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .9rem; }
    .predicate { display: block; overflow-wrap: anywhere; } [hidden] { display: none; }
    .command { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--panel); padding: .5rem .7rem; margin: .3rem 0; }
    .error { color: var(--bad); white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; }
    th button[aria-expanded] { padding: 0 .3rem; } th button.active { color: var(--link); }
    .facet { border: 1px solid var(--rule); border-radius: 6px; background: var(--panel); padding: 0 1rem .5rem; margin: .5rem 0; max-width: 44rem; }
    .facet p { margin: .5rem 0; } .facet ul, .columns ul { list-style: none; margin: 0; padding: 0; }
    .fields { display: flex; gap: .3rem 1rem; flex-wrap: wrap; } .fields input { width: 11rem; } .fields select { font: inherit; color: inherit; background: var(--page); }
    .facet li label { display: flex; gap: .5rem; align-items: baseline; padding: .05rem .3rem;
      background: linear-gradient(color-mix(in srgb, var(--bar) 30%, transparent) 0 0) no-repeat 0 0 / var(--share) 100%; }
    .facet .name { flex: 1; overflow-wrap: anywhere; min-width: 0; } .facet li .soft { color: var(--text); }
    .bins { display: flex; align-items: end; height: 3.5rem; gap: 2px; max-width: 24rem; }
    .bins button { flex: 1; min-width: 0; padding: 0; border: 0; border-radius: 0; height: 100%;
      background: linear-gradient(var(--bar) 0 0) no-repeat 0 100% / 100% var(--height); }
    .bins button[aria-pressed=true] { outline: 2px solid var(--link); }
    .chart { width: 100%; margin: .5rem 0; } .chart caption { text-align: left; font-weight: 600; overflow-wrap: anywhere; }
    .chart tbody th { font-weight: 400; color: var(--text); white-space: normal; overflow-wrap: anywhere; width: 12rem; } .chart .value { display: flex; gap: .5rem; align-items: center; max-width: none; }
    .chart .bar { flex: 0 0 auto; height: 1rem; background: var(--bar); width: calc(var(--share) * .65); } .chart .negative { background: repeating-linear-gradient(45deg, var(--bar) 0 3px, transparent 3px 6px); border: 1px solid var(--bar); }
    .groups { max-width: 60rem; } .groups select { font: inherit; color: inherit; background: var(--page); max-width: 14rem; }
    .columns li { display: inline-block; margin-right: 1.2rem; } .columns button { padding: 0 .4rem; font-size: .85rem; }
    #object { position: fixed; z-index: 3; inset: 0 0 0 auto; width: min(44rem, 100vw); overflow: auto; background: var(--page); padding: 0 1.2rem 2rem;
      border-left: 1px solid var(--rule); box-shadow: 0 0 2rem rgb(0 0 0 / .25); }
    #object h2 { margin-top: 1rem; } #object ol { margin: 0; padding-left: 1.5rem; } #object nav { position: static; padding: .3rem 0; }
    #object dd { white-space: pre-wrap; } #object dd > details > span { display: block; }
    .tree { list-style: none; margin: 0; padding-left: 1rem; white-space: normal; } .tree span { white-space: pre-wrap; }
    #object img { display: block; max-width: min(100%, 20rem); max-height: 15rem; background: repeating-conic-gradient(var(--rule) 0 25%, var(--page) 0 50%) 0 0 / 16px 16px; }
    #object dd button { padding: 0 .4rem; font-size: .85rem; }
    .busy { opacity: .6; }
    @media print { .query, .tools, .columns, .facet { display: none; } #object { position: static; box-shadow: none; border: 0; } }
    @media (max-width: 600px) { dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } .wide { display: none; } h2 { font-size: 1.1rem; } }
    @media print { nav, .pager, button, .canvas a::after { display: none; } th button { display: inline; } .canvas { max-height: none; overflow: visible; border: 0; }
      .canvas svg { max-width: 100%; height: auto; } .scroll { overflow: visible; } section { break-inside: auto; } tr { break-inside: avoid; }
      body { font-size: 10pt; } }
    """

  static let comparison = """

    td.old { background: color-mix(in srgb, var(--bad) 9%, transparent); } td.new { background: color-mix(in srgb, var(--good) 9%, transparent); }
    h3.added { color: var(--good); } h3.removed { color: var(--bad); } h3.changed { color: var(--doubt); }
    td.repeated { color: var(--soft); } nav label { white-space: nowrap; } nav input[type=checkbox] { min-width: 0; } nav select { font: inherit; max-width: 12rem; }
    #none { padding: 0 max(16px, calc((100vw - 1200px) / 2)); }
    """
}
