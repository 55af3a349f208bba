/// A single-file page that shows a ``Timeline``.
@available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
enum TimelinePage {
  /// Returns the page with `data`, which is JSON.
  static func html(data: String) -> String {
    // Only "<" can end a script element, or change how its end is found. In JSON, it occurs only in
    // strings, so it can be escaped.
    let safe = data.replacing("<", with: "\\u003C")
    return """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="Content-Security-Policy"
        content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
      <title>Promises</title>
      <style>
      \(style)
      </style>
      </head>
      <body>
      \(body)
      <script type="application/json" id="data">\(safe)</script>
      <script>
      \(script)
      </script>
      </body>
      </html>

      """
  }

  private static let body = """
    <header>
      <div class="title"><h1>Promises</h1><p id="facts"></p></div>
      <div class="tools">
        <input id="search" type="search" placeholder="Location, operation, error, #number"
          aria-label="Search" autocomplete="off" spellcheck="false">
        <div id="filters" class="group" role="group" aria-label="Show"></div>
        <div class="group" role="group" aria-label="Chains">
          <button id="fold" title="Show each chain in one row">Fold</button>
          <button id="unfold" title="Show each promise in a row">Unfold</button>
          <button id="library" title="Show promises that the library creates internally">
            Library</button>
        </div>
        <div class="group" role="group" aria-label="Time">
          <button id="out" title="Zoom out (-)" aria-label="Zoom out">&minus;</button>
          <button id="fit" title="Show the entire time range (0)">Fit</button>
          <button id="in" title="Zoom in (+)" aria-label="Zoom in">+</button>
        </div>
        <button id="theme" title="Light or dark" aria-label="Light or dark">&#9681;</button>
      </div>
    </header>
    <div id="notices"></div>
    <div id="overview"><div class="side">Entire time range</div><canvas></canvas></div>
    <div id="axis"><div class="side" id="count"></div><canvas></canvas></div>
    <main>
      <div id="scroller" tabindex="0" aria-label="Timeline">
        <div id="sticky"><div id="labels"></div><canvas id="chart"></canvas></div>
        <div id="spacer"></div>
      </div>
      <aside id="details" hidden aria-live="polite"></aside>
    </main>
    <footer id="legend"></footer>
    <div id="tip" hidden></div>
    """
}
