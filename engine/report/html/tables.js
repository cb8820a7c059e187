// A click on a title sorts its table by that column; a second one turns it round.
'use strict';
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0];
  const titles = [...table.tHead.rows[0].cells];
  titles.forEach((title, column) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(...title.childNodes);
    title.append(button);
    button.addEventListener('click', () => {
      // Numbers are looked at for their largest first.
      const first = title.classList.contains('number') ? 'descending' : 'ascending';
      const other = first === 'ascending' ? 'descending' : 'ascending';
      const order = title.getAttribute('aria-sort') === first ? other : first;
      titles.forEach((one) => one.removeAttribute('aria-sort'));
      title.setAttribute('aria-sort', order);
      sortRows(body, column, order === 'ascending' ? 1 : -1);
    });
  });
}

function sortRows(body, column, sign) {
  const keyOf = (row) => {
    const cell = row.cells[column];
    return cell.dataset.order === undefined ? cell.textContent : Number(cell.dataset.order);
  };
  // What is not known stays at the end, whichever way is sorted.
  const compare = (a, b) => {
    if (a === '' || b === '') return (a === '') - (b === '');
    if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
    return sign * String(a).localeCompare(String(b), undefined, {numeric: true});
  };
  const rows = [...body.rows].map((row) => [keyOf(row), row]);
  rows.sort((a, b) => compare(a[0], b[0]));
  body.append(...rows.map(([, row]) => row));
}
