"""Commands as people type them, the stock from which mutants and paraphrases are made."""

COMMANDS = r"""
ls -la
ls -ltr /var/log
ls -lhS *.iso
ls -d */
ls -R src | grep '\.py$'
cd /tmp && ls -a
pwd
cat notes.txt
cat part1 part2 part3 > whole
cat /etc/passwd | cut -d: -f1,7
tac access.log | head -n 20
head -n 5 report.csv
head -c 512 disk.img > boot.bin
tail -n 100 server.log
tail -n +2 data.csv | sort -t, -k3 -n
tail -f /var/log/syslog | grep --line-buffered error
wc -l *.c
wc -w < essay.txt
sort -rn sizes.txt | head -3
sort -t: -k3,3n /etc/passwd
sort -u a.txt b.txt -o merged.txt
uniq -c sorted.txt | sort -nr
sort words | uniq -d
comm -12 one.txt two.txt
comm -23 one.txt two.txt > only_one.txt
join -t, -1 2 -2 1 orders.csv customers.csv
paste -d, names.txt ages.txt
cut -c1-10 log.txt
cut -d' ' -f2- words.txt
tr 'a-z' 'A-Z' < in.txt > out.txt
tr -d '\r' < dos.txt > unix.txt
tr -s ' ' < in.txt
rev names.txt
nl -ba script.sh
seq 1 2 9
diff -u old.c new.c > fix.patch
diff -rq dir1 dir2
cmp a.bin b.bin
md5sum image.iso > image.md5
sha256sum -c sums.txt
touch stamp1 stamp2
touch -d '2 days ago' old.txt
touch -r ref.txt new.txt
mkdir -p build/out
mkdir -m 700 private
rm -rf build
rm -i *.tmp
rm -- -odd-name
rmdir -p a/b/c
cp -r src backup
cp -p a.conf a.conf.bak
cp one.txt two.txt dest/
mv old.txt new.txt
mv -n *.jpg photos/
ln -s /opt/app/current app
ln -sfn releases/2 current
chmod 644 index.html
chmod -R u+rwX,go-w public
chown -R www:www /srv/www
chgrp staff report.doc
stat -c '%s %n' file.bin
file -b picture.png
du -sh * | sort -h
du -h --max-depth=1 /home
df -hT
date +%Y-%m-%d
date -d '1 hour ago' '+%H:%M'
echo hello world
echo -n "no newline"
echo "$HOME/bin:$PATH"
echo $((3 + 4))
printf '%s\n' one two
basename /usr/lib/libc.so .so
dirname /usr/local/bin/tool
readlink -f link
grep -rn 'TODO' src
grep -i warning build.log | wc -l
grep -v '^#' config.ini
grep -c error *.log
grep -E '^(foo|bar)' list.txt
grep -A 2 -B 1 panic kern.log
grep -e alpha -e beta names.txt
grep -rl --include='*.h' size_t include
grep -o '[0-9]\+' numbers.txt
grep -q root /etc/passwd && echo yes
ps -ef | grep nginx | grep -v grep
ps aux | sort -k4 -r | head -5
kill -9 4242
kill -HUP 17 18
pkill -f 'python server.py'
find . -name '*.py'
find . -type f -size +10M
find /var -type d -empty -print
find . -name '*.o' -delete
find . -type f -mtime -7 -name '*.log'
find src -name '*.c' -o -name '*.h'
find . \( -name '*.jpg' -o -name '*.png' \) -print0 | xargs -0 du -ch
find . -type f ! -name '*.gz' -exec gzip {} \;
find / -user bob -perm -4000 2>/dev/null
find . -maxdepth 2 -type d
find . -path ./node_modules -prune -o -name '*.js' -print
find . -type f -exec grep -l main {} +
find . -newer stamp -exec cp {} /backup \;
find . -name core -ok rm {} \;
find logs -name '*.log' -mmin +60 | xargs gzip
find . -type f -name '*.txt' -exec sed -i 's/old/new/g' {} +
xargs -n 1 echo < list.txt
xargs -I {} mv {} {}.bak < names
cat urls.txt | xargs -P 4 -n 1 wget -q
ls *.txt | xargs -d '\n' rm
sed 's/foo/bar/g' input.txt
sed -n '10,20p' file.txt
sed -i.bak '/^$/d' notes.txt
sed -e 's/a/b/' -e 's/c/d/2' f
sed '1d;$d' table.txt
sed -E 's/([0-9]+)-([0-9]+)/\2-\1/' pairs.txt
sed '/start/,/end/s/x/y/' f
awk '{print $1, $3}' table.txt
awk -F: '$3 >= 1000 {print $1}' /etc/passwd
awk '{sum += $2} END {print sum / NR}' data.txt
awk -v n=5 'NR == n' f
tar -czf backup.tgz docs src
tar xzf backup.tgz -C /tmp/restore
tar -tvf archive.tar | head
tar -cf - dir | ssh host 'tar -xf - -C /data'
tar --exclude='*.o' -cjf code.tbz project
gzip -9 big.log
gzip -dc dump.sql.gz | wc -l
gunzip archive.gz
zip -r site.zip public
unzip -l site.zip
git add -A
git commit -m 'fix parser'
git commit --amend --no-edit
git log --oneline -n 10
git push -u origin main
git checkout -b feature
git status -s
git diff --stat HEAD~1
curl -sL https://example.com/x -o x.html
curl -X POST -d 'a=1' http://localhost:8080/api
wget -O page.html http://example.com/
ssh -p 2222 user@host uptime
scp -r dir user@host:/srv
rsync -av --delete src/ dst/
rsync -az --exclude=.git --include=keep . host:/backup
ping -c 3 example.com
make clean && make -j4 all
make > build.log 2>&1
gcc -O2 -o app main.c
python3 script.py --fast 2> errors.txt
sudo systemctl restart nginx
sudo -u postgres psql -c 'select 1'
env LANG=C sort names.txt
nohup ./server > server.out 2>&1 &
timeout 10 curl -s http://localhost/
nice -n 5 make
time sleep 1
watch -n 2 'ls -l'
tee -a log.txt < input
ls -l | tee listing.txt | wc -l
[ -f config ] && cat config
[ "$a" = "$b" ] || exit 1
test -d build || mkdir build
if [ -z "$x" ]; then echo empty; else echo "$x"; fi
for f in *.txt; do mv "$f" "${f%.txt}.md"; done
for i in {1..5}; do echo $i; done
while read -r line; do echo "$line"; done < list
case $1 in start) echo up;; stop) echo down;; esac
x=$(date +%s); echo $x
export PATH=$PATH:/opt/bin
(cd sub && make)
cat <<< "$name" | tr a-z A-Z
diff <(sort a) <(sort b)
! grep -q bad file
sort < in.txt > out.txt 2>/dev/null
{ echo a; echo b; } > both.txt
uname -r
id -u
whoami
free -m
hostname -f
sleep 2; echo done
true && echo ok
shuf -n 3 names.txt
split -l 1000 big.txt part_
column -t -s, data.csv
fold -w 80 text.txt
base64 -d data.b64 > data.bin
od -c file.bin
dd if=in.img of=out.img bs=4M
crontab -l
chmod +x run.sh && ./run.sh
""".strip().splitlines()
