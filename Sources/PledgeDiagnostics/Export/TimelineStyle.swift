extension TimelinePage {
  static let style = """
    :root {
      color-scheme: light dark;
      --paper: light-dark(#ffffff, #15171c);
      --panel: light-dark(#f5f6f8, #1c1f26);
      --edge: light-dark(#dfe2e8, #2e333d);
      --grid: light-dark(#eceef2, #232731);
      --text: light-dark(#1b1f27, #e6e8ec);
      --quiet: light-dark(#626a78, #99a1b0);
      --hover: light-dark(#eef3fc, #20262f);
      --chosen: light-dark(#dce8fc, #26354d);
      --wait: light-dark(#b3bac6, #555d6b);
      --queue: light-dark(#a9c8f8, #2f4f83);
      --run: light-dark(#2f6fde, #5b9bff);
      --onrun: light-dark(#ffffff, #0c1422);
      --fulfilled: light-dark(#1c8a4c, #4cc783);
      --rejected: light-dark(#cf2f3c, #ff6b76);
      --cancelled: light-dark(#8257b8, #b391e6);
      --pending: light-dark(#c26a00, #f2a63b);
      --done: light-dark(#7c8594, #8b93a3);
      --link: light-dark(#1f5fcf, #86b4ff);
      --side: 420px;
    }
    * { box-sizing: border-box; }
    html, body { height: 100%; margin: 0; }
    body {
      display: flex; flex-direction: column; background: var(--paper); color: var(--text);
      font: 13px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
      overflow: hidden;
    }
    header {
      display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center;
      padding: 10px 14px; background: var(--panel); border-bottom: 1px solid var(--edge);
    }
    .title { display: flex; gap: 12px; align-items: baseline; flex: 1 1 auto; min-width: 200px; }
    h1 { font-size: 16px; margin: 0; font-weight: 650; }
    #facts { margin: 0; color: var(--quiet); }
    .tools { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
    input, button {
      font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--edge);
      border-radius: 6px; padding: 4px 10px; height: 30px;
    }
    input { width: 290px; max-width: 60vw; }
    button { cursor: pointer; }
    button:hover { background: var(--hover); }
    :focus-visible { outline: 2px solid var(--run); outline-offset: 1px; }
    #scroller:focus-visible { outline-offset: -2px; }
    .group { display: flex; }
    .group button { border-radius: 0; margin-left: -1px; }
    .group button:first-child { border-radius: 6px 0 0 6px; margin-left: 0; }
    .group button:last-child { border-radius: 0 6px 6px 0; }
    .group button[aria-pressed="true"] { background: var(--chosen); font-weight: 600; }
    #notices:not(:empty) {
      padding: 8px 14px; border-bottom: 1px solid var(--edge); max-height: 26vh; overflow: auto;
      background: light-dark(#fff4e0, #33280f);
    }
    #notices pre { margin: 0; font: 12px/1.45 ui-monospace, Menlo, Consolas, monospace; }
    #notices pre + pre { margin-top: 8px; }
    #overview, #axis { display: flex; border-bottom: 1px solid var(--edge); }
    #overview canvas, #axis canvas { flex: 1; min-width: 0; display: block; }
    #overview canvas { height: 46px; cursor: grab; touch-action: none; }
    #axis canvas { height: 26px; }
    .side {
      width: var(--side); padding: 0 14px; color: var(--quiet); border-right: 1px solid var(--edge);
      display: flex; align-items: center; white-space: nowrap; overflow: hidden;
    }
    main { flex: 1; min-height: 0; display: flex; }
    #scroller { flex: 1; min-width: 0; overflow: hidden auto; }
    #sticky { position: sticky; top: 0; display: flex; }
    #labels {
      width: var(--side); flex: none; overflow: hidden; position: relative; height: 100%;
      border-right: 1px solid var(--edge);
    }
    #chart { flex: 1; min-width: 0; display: block; cursor: crosshair; touch-action: pan-y; }
    #chart.dragged { cursor: grabbing; }
    .row {
      position: absolute; left: 0; right: 0; height: 24px; display: flex; align-items: center;
      gap: 6px; padding-right: 10px; white-space: nowrap; cursor: pointer;
    }
    .row:hover, .row.hover { background: var(--hover); }
    .row.chosen { background: var(--chosen); }
    .row .twist {
      width: 16px; flex: none; text-align: center; color: var(--quiet); font-size: 10px;
      background: none; border: 0; padding: 0; height: 24px;
    }
    .row .dot { width: 8px; height: 8px; border-radius: 50%; flex: none; }
    .row .number { color: var(--quiet); font-variant-numeric: tabular-nums; font-size: 11px; }
    .row .name { font-weight: 550; }
    .row .place {
      color: var(--quiet); margin-left: auto; overflow: hidden; text-overflow: ellipsis;
      direction: rtl; font-size: 12px; min-width: 40px;
    }
    .row .badge {
      font-size: 11px; padding: 0 6px; border-radius: 9px; line-height: 17px;
      background: var(--grid); color: var(--quiet);
    }
    .row .badge.bad { color: var(--rejected); }
    .row .badge.open { color: var(--pending); }
    aside {
      width: 340px; flex: none; overflow: auto; padding: 12px 14px;
      border-left: 1px solid var(--edge); background: var(--panel);
    }
    aside h2 { font-size: 14px; margin: 0 28px 2px 0; overflow-wrap: anywhere; }
    aside h3 { font-size: 12px; margin: 14px 0 4px; color: var(--quiet); font-weight: 600; }
    aside .close { float: right; border: 0; background: none; height: 24px; padding: 0 6px; }
    aside a { color: var(--link); cursor: pointer; text-decoration: none; display: block; }
    aside a { padding: 2px 0; background: none; border: 0; text-align: left; }
    aside a:hover { text-decoration: underline; }
    aside ol, aside ul { margin: 0; padding-left: 18px; }
    dl {
      display: grid; grid-template-columns: max-content 1fr; gap: 2px 12px; margin: 8px 0 0;
    }
    dt { color: var(--quiet); }
    dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
    .state { font-weight: 600; }
    #tip {
      position: fixed; z-index: 2; max-width: 460px; padding: 8px 12px; border-radius: 8px;
      background: var(--panel); border: 1px solid var(--edge); pointer-events: none;
      box-shadow: 0 6px 24px light-dark(#0003, #000a);
    }
    #tip b { display: block; overflow-wrap: anywhere; }
    footer {
      display: flex; flex-wrap: wrap; gap: 4px 16px; padding: 6px 14px; color: var(--quiet);
      border-top: 1px solid var(--edge); background: var(--panel); font-size: 12px;
    }
    footer span { display: inline-flex; align-items: center; gap: 6px; }
    footer i { width: 18px; height: 8px; display: inline-block; border-radius: 2px; }
    footer i.thin { height: 2px; }
    footer i.round { width: 8px; border-radius: 50%; }
    footer .keys { margin-left: auto; }
    .empty { padding: 24px 14px; color: var(--quiet); }
    @media (max-width: 900px) {
      :root { --side: 200px; }
      .row .place, footer .keys { display: none; }
      aside { position: absolute; right: 0; bottom: 0; max-height: 60vh; max-width: 100vw; }
    }
    """
}
