"""Pairs of opposites of everyday language: one pair a line. Data only; `poles` reads it.

Forms as in `marks.forms`: `~` asks for the verb forms, `+` for the plural, `_` stands for a blank.
"""

from __future__ import annotations

ACTIONS_AND_STATES = """
in_stock available 有货 现货 | out_of_stock unavailable sold_out 缺货 无货 售罄
get_into getting_into go_into | get_out_of getting_out_of go_out_of stay_out_of
save_money saving_money 省钱 存钱 | spend spends spending spent 花钱
fall_asleep falling_asleep 入睡 | stay_awake staying_awake 保持清醒 熬夜
help_with helps_with aid~ 有助于 有利于 | disrupt~ harm~ hinder~ impair~ 有害 不利于 妨碍
keep keeps keeping kept retain~ preserve~ 保留 留下 | delete~ remove~ discard~ 删除 丢弃 清除
initial one_time upfront 一次性 首次 | recurring ongoing repeated 经常性 每次
stop_growing stop_working stop_running 停止生长 | grow grows growing keep_growing 生长
former previous ex_husband 前任 | current present 现任
put_out extinguish~ 灭火 扑灭 | ignite~ set_fire light_a_fire start_a_fire 点火 生火
new brand_new 全新 新 | used second_hand secondhand refurbished 二手 旧
fresh 新鲜 | frozen 冷冻
lead_to leads_to | result_from results_from
enable~ activate~ turn_on switch_on put_on 启用 启动 打开 开启 开通 激活 | disable~ deactivate~ turn_off switch_off shut_off 禁用 停用 关闭 关掉 关上 注销
open~ reopen~ 开户 开门 营业 | close~ shut shuts shutting 销户 关门 打烊 歇业
log_in sign_in login logon 登录 登入 | log_out sign_out log_off sign_off logout logoff 登出 退出登录 退登
allow~ permit~ permitted permitting authorize~ authorise~ unblock~ 允许 准许 可以带 | block~ forbid forbids forbidden forbidding ban~ prohibit~ disallow~ deny~ 禁止 不准 屏蔽 拦截 封禁
admit~ let_in welcome~ | turn_away refuse_entry
accept~ 接受 同意 | decline~ reject~ refuse~ turn_down 拒绝 拒收
approve~ approval 批准 通过 | reject~ disapprove~ 驳回 拒批
grant~ 授予 授权 | revoke~ withdraw_consent 撤销 收回 吊销
increase~ raise~ boost~ grow grows growing rise rises rising rose go_up goes_up higher greater 增加 提高 上升 增大 上涨 涨价 升高 调高 加快 | decrease~ reduce~ reduction lower~ drop~ cut cuts cutting fall falls falling fell go_down goes_down lessen~ 减少 降低 下降 减小 下跌 降价 调低 放慢
expand~ enlarge~ 扩大 放大 扩张 展开 | shrink shrinks shrinking collapse~ 缩小 收缩 折叠 收起
strengthen~ 加强 增强 | weaken~ 减弱 削弱
speed_up accelerate~ | slow_down decelerate~
improve~ better 改善 变好 好转 | worsen~ worse deteriorate~ 恶化 变差 加重
gain~ 增重 增肥 长胖 | lose loses losing lost 减重 减肥 瘦身
win wins winning won 赢 胜诉 | lose loses losing lost 输 败诉
include~ including inclusive 包括 包含 含 带 | exclude~ excluding exclusive 不包括 不含 不带 除外
buy buys buying bought purchase~ buyer+ 买 购买 买入 购入 买家 | sell sells selling sold seller+ 卖 出售 卖出 卖家
borrow~ borrower+ 借入 借款人 | lend lends lending lent lender+ 借出 贷款人
deposit~ pay_in 存款 存入 存钱 | withdraw withdraws withdrawing withdrew withdrawal+ 取款 提现 取出 取钱 支取
debit~ | credit~
import~ 导入 进口 | export~ 导出 出口
upload~ 上传 | download~ 下载
add~ append~ insert~ 添加 新增 加入 插入 | remove~ delete~ erase~ drop~ 删除 移除 去掉 删掉
create~ 创建 新建 建立 | delete~ destroy~ 删除 销毁
install~ 安装 | uninstall~ 卸载
subscribe~ opt_in 订阅 | unsubscribe~ opt_out 退订 取消订阅
follow~ 关注 | unfollow~ 取关 取消关注
book~ reserve~ 预订 预约 预定 下单 | cancel~ cancelling cancelled cancellation 取消 退订
renew~ renewal 续费 续订 续签 | cancel~ cancelling cancelled cancellation terminate~ termination 取消 终止
hire~ recruit~ 招聘 雇用 录用 入职 | fire~ dismiss~ lay_off 解雇 辞退 开除 离职
join~ enter~ enrol~ enroll~ 加入 进入 入会 | leave leaves leaving exit~ quit quits quitting 退出 离开 退会
start~ begin begins beginning began starting commence~ launch~ 开始 启动 起始 | stop~ end~ finish~ cease~ terminate~ 结束 停止 终止 截止
pause~ 暂停 | resume~ unpause~ 恢复 继续
lock~ 锁定 上锁 锁上 | unlock~ 解锁 开锁
freeze freezes freezing froze frozen 冻结 冷冻 | unfreeze thaw~ defrost~ 解冻
mute~ 静音 禁言 | unmute~ 取消静音
hide hides hiding hidden 隐藏 | show~ shown unhide 显示
connect~ plug_in pair~ 连接 接通 绑定 | disconnect~ unplug~ unpair~ 断开 解绑
attach~ mount~ 挂载 | detach~ unmount~ 卸载
encrypt~ encryption 加密 | decrypt~ decryption 解密
encode~ encoding 编码 | decode~ decoding 解码
serialize~ serialise~ 序列化 | deserialize~ deserialise~ 反序列化
compress~ zip~ 压缩 | decompress~ unzip~ extract~ 解压 解压缩
push~ 推送 | pull~ 拉取
send~ sends sent sender+ 发送 寄出 发件人 寄 | receive~ recipient+ receiver+ 接收 收到 收件人 收
read~ 读取 读 | write writes writing wrote written 写入
input+ 输入 | output+ 输出
load~ 装载 加载 | unload~ 卸载 卸货
fill~ 填满 | empty empties emptying emptied 清空
inhale~ 吸气 | exhale~ 呼气
arrive~ arrival+ 到达 抵达 到站 | depart~ departure+ leave leaves leaving 出发 离开 发车 起飞
check_in 入住 值机 | check_out 退房
inbound incoming 进站 入站 转入 入境 | outbound outgoing 出站 转出 出境
ascending 升序 从小到大 递增 正序 | descending 降序 从大到小 递减 倒序
first 第一 首个 最先 | last final 最后 末尾
big large huge 大型 大号 | small tiny little 小型 小号
good 好处 优点 益处 优势 利 | bad 坏处 缺点 害处 劣势 弊
pros advantage+ benefit+ upside+ strength+ 优点 优势 好处 | cons disadvantage+ drawback+ downside+ weakness weaknesses shortcoming+ 缺点 劣势 坏处 弊端
inside indoor indoors within internal inner interior 里面 室内 内部 以内 境内 国内 | outside outdoor outdoors external outer exterior 外面 室外 户外 外部 以外 境外 国外
left leftmost 左 左边 左侧 左眼 左手 左腿 | right rightmost 右 右边 右侧 右眼 右手 右腿
front forward forwards 前面 前排 前门 向前 | back rear backward backwards reverse~ 后面 后排 后门 向后
frontend front_end 前端 | backend back_end 后端
horizontal horizontally 水平 横向 | vertical vertically 垂直 纵向
row+ 行 | column+ 列
uppercase capital_letters 大写 | lowercase 小写
prefix prefixes 前缀 | suffix suffixes 后缀
public publicly 公开 公立 公有 | private privately 私有 私立 私密
legal legally lawful 合法 | illegal illegally unlawful 非法 违法 犯法
valid validity 有效 生效 | invalid void 无效 失效 作废
possible 可能 | impossible 不可能 infeasible
safe safely 安全 | unsafe dangerous harmful risky 危险 有害 不安全
true 真 真的 | false fake 假 假的
correct 正确 | incorrect wrong 错误
positive 正数 阳性 正面 | negative 负数 阴性 负面
odd 奇数 单数 | even 偶数 双数
mandatory compulsory obligatory required require~ 强制 必须 必填 | optional voluntary 可选 自愿 选填
liable subject_to taxable owe~ 应缴 需要缴纳 缴纳 应税 要交 | exempt exemption+ tax_free 免缴 免税 免征 豁免 免交
full_time fulltime 全职 | part_time parttime 兼职
temporary temporarily 临时 暂时 短期 | permanent permanently 永久 长期
online remote remotely 线上 网上 远程 在线 | offline in_person onsite in_store 线下 现场 柜台 离线 门店
sync synchronous synchronously 同步 | async asynchronous asynchronously 异步
static 静态 | dynamic dynamically 动态
mutable 可变 | immutable 不可变
local locally 本地 | global globally 全局 全球
absolute 绝对 | relative 相对
formal formally 正式 | informal informally casual casually 非正式 口语
short shortly | long lengthy
singular 单数 | plural 复数
simple simplified simplify~ 简单 简化 | complex complicated advanced 复杂 高级
beginner+ novice+ 初学者 新手 入门 | expert+ advanced professional+ 专家 高级 进阶
income revenue+ earn~ earnings 收入 进账 | expense+ spending expenditure+ spend spends spent 支出 花费 开销
profit+ 利润 盈利 | loss losses 亏损
asset+ 资产 | liability liabilities 负债
surplus 盈余 顺差 | deficit+ 赤字 逆差
gross 税前 毛利 | net 税后 净利
多吃 | 少吃
cause~ trigger~ 引起 导致 造成 | prevent~ prevention cure~ treat~ treatment+ 预防 治疗 防止
symptom+ sign+ 症状 | treatment+ treat~ cure~ prevention prevent~ 治疗 预防 治法
promote~ 促进 升职 | inhibit~ demote~ 抑制 降职
marry~ marriage wedding 结婚 婚礼 | divorce~ 离婚
born birth 出生 诞生 | die dies died dying death dead 去世 死亡 死
alive living 活 | dead deceased 死
healthy 健康 | sick unhealthy ill 生病 不健康
benign 良性 | malignant 恶性
acute 急性 | chronic 慢性
hypertension | hypotension
hyperglycemia hyperglycaemia | hypoglycemia hypoglycaemia
hyperthyroidism 甲亢 | hypothyroidism 甲减
hyperthermia | hypothermia
systolic 收缩压 高压 | diastolic 舒张压 低压
adult+ grown_up grown_ups 成人 成年人 大人 | child children kid+ minor+ infant+ toddler+ baby babies 儿童 小孩 孩子 未成年人 婴儿
buyer+ customer+ 买家 买方 | seller+ merchant+ vendor+ 卖家 卖方 商家
employer+ 雇主 用人单位 | employee+ worker+ 员工 雇员 劳动者
landlord+ lessor+ 房东 | tenant+ lessee+ renter+ 租客 租户 房客
plaintiff+ 原告 | defendant+ 被告
teacher+ professor+ 老师 | student+ pupil+ 学生
doctor+ physician+ 医生 | patient+ 病人 患者
majority 多数 | minority 少数
upstream 上游 | downstream 下游
ancestor+ 祖先 | descendant+ 后代
wet 湿 潮湿 | dry 干 干燥
thick thicker 厚 | thin thinner 薄
heavy heavier heaviest 重 最重 | light lighter lightest 轻 最轻
strong stronger strongest 强 最强 | weak weaker weakest 弱 最弱
rich richest 富 | poor poorest 穷
full 满 全部 | empty partial partially 空 部分
same identical equal 相同 一样 | different 不同 不一样
always 总是 一直 | sometimes rarely seldom occasionally 有时 偶尔
love~ like~ 喜欢 | hate~ dislike~ 讨厌
agree~ 同意 赞成 | disagree~ object_to oppose~ 反对
happy happier happiest 开心 高兴 | sad unhappy sadder 难过 伤心
optimistic optimist+ | pessimistic pessimist+
lucky | unlucky
polite | rude impolite
humble modest | proud arrogant
courageous brave | fearful cowardly timid
smart intelligent clever | stupid dumb
honest | dishonest
generous | stingy selfish
calm relaxed | nervous anxious
confident | insecure
visible | invisible hidden
known famous | unknown
quiet silent | loud noisy
clean | dirty
sharp | blunt
smooth | rough
soft | hard
fresh | stale rotten
raw | cooked
sweet | sour bitter
vegan vegetarian | meat
rural | urban
direct directly | indirect indirectly
manual manually | automatic automatically automated
patient | impatient
dependent | independent
active | passive inactive
conscious | unconscious
religious | secular irreligious atheist
progressive liberal | conservative
introvert+ introverted | extrovert+ extroverted
ancient | modern
natural 天然 | artificial synthetic 人工 合成
domestic 国内 | foreign international overseas 国际 海外 国外
arrested guilty 有罪 | acquitted innocent 无罪
debug~ 调试 | release~ 发布
encourage~ 鼓励 | discourage~ 劝阻
appear~ 出现 | disappear~ vanish~ 消失
succeed~ success successful 成功 | fail~ failure failed unsuccessful 失败
remember~ 记得 | forget forgets forgot forgotten 忘记 忘了
save~ 保存 | discard~ 丢弃 不保存
undo undid 撤销 撤回 | redo 重做
merge~ combine~ join_together 合并 | split splits splitting separate~ 拆分 分开
ingoing | outgoing
"""

# Directions of comparison, in time, size, rank and price.
DIRECTIONS = """
within 之内 以内 | after 之后 以后
older_than 早于 | newer_than younger_than more_recent_than 晚于
slow slowly 慢 | fast quickly quick rapidly 快
sooner | later
before prior_to ahead_of 之前 以前 前 饭前 餐前 术前 婚前 税前 事前 产前 课前 睡前 | after following past 之后 以后 后 饭后 餐后 术后 婚后 税后 事后 产后 课后 睡后
previous preceding 上一 上个 | next subsequent 下一 下个
ago | from_now
early earlier earliest 早 提前 最早 | late later latest delay~ 晚 推迟 延后 最晚
oldest older elder 最老 较老 旧 | newest newer youngest younger 最新 最年轻 较新 新
most 最多 大多数 至多 更多 | least fewest 最少 至少 更少
多 更多 | 少 更少
at_least minimum min minimal minimise~ minimize~ no_less_than 至少 最少 最低 最小 最小化 下限 | at_most maximum max maximal maximise~ maximize~ no_more_than up_to 至多 最多 最高 最大 最大化 上限
highest tallest 最高 | lowest shortest 最低 最矮
high 高 偏高 过高 高血压 高血糖 高血脂 | low 低 偏低 过低 低血压 低血糖 低血脂
largest biggest greatest 最大 | smallest tiniest 最小
larger bigger 更大 较大 变大 | smaller 更小 较小 变小
longest longer 最长 更长 变长 延长 lengthen~ | shortest shorter 最短 更短 变短 缩短 shorten~
fastest faster quickest quicker 最快 更快 快 | slowest slower 最慢 更慢 慢
cheapest cheaper cheap inexpensive 最便宜 便宜 更便宜 | priciest dearest expensive costliest 最贵 贵 更贵
best 最好 最佳 | worst 最差 最坏 最糟
hottest warmest hot warm heating heat~ 最热 热 加热 升温 制热 | coldest coolest cold cooling chill~ 最冷 冷 冷却 降温 制冷
easiest easier easy 容易 简单 | hardest harder difficult 困难 复杂 难
nearest closest near 最近 近 | farthest furthest far 最远 远
above over upper top exceed~ more_than greater_than higher_than longer_than older_than 以上 超过 高于 大于 多于 上面 上部 | below under lower bottom less_than fewer_than lower_than shorter_than younger_than underneath beneath 以下 低于 小于 少于 不足 不到 下面 下部
"""

# Degrees: `less patient` is `more impatient`.
DEGREES = """
more | less fewer
"""
