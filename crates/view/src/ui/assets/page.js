// What each page does once it is there.
document.documentElement.classList.add('scripted');
const address = new URL(location.href);
if (address.searchParams.has('token')) {
  // The cookie has it now; it need not stay in the address.
  address.searchParams.delete('token');
  history.replaceState(null, '', address);
}
if (document.getElementById('live')) live(document.getElementById('live'));
if (document.getElementById('start')) startForm(document.getElementById('start'));
